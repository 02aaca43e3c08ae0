"""The paper's case studies: what was printed, what is run, what came of it, and its tables.

Receives the name of a case from the command line; gives a `Study`, and the page and files of it. A
case is one module (`academic`, `silverbox`, `waves`), listed in `registry`; the rest serves all.
"""
