"""Runs on their way out and in: saved files, and what other programs take.

A run is saved as one netCDF-4 file (`run_file`) that any netCDF program can open. The file is
sealed (`sealed`), so that damage is found before it does harm, and what it holds is checked like
any other thing a user passes (`stored_group`).
"""
