"""Work on an existing Dask cluster: functions with arguments go there, and results come back.

Nothing here knows what is computed. ``connection`` finds the scheduler and holds its workers
against this process, ``executor`` hands them work, ``worker`` does it there. Only this folder
imports Dask.
"""
