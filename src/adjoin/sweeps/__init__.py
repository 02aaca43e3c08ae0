"""Sweeps: data sets × settings × seeds, each run in a folder of its own, and one table of all.

A `plan` says what is run, `jobs` are its runs, one by one, with what each is of (`checked` before
anything runs); `work` does one in whatever process it is in, `processes` are those on this machine.
`folder` knows what is there already, and `sweep` runs what is not and hands out a `Sweep`
(`collected`).
"""
