"""Compiled code: every inner loop, over flat arrays, and nothing else.

Kernels import numpy, and numba only through ``_jit``. They receive tuples of arrays and
never raise: a bad outcome is a returned code or a non-finite number.
"""
