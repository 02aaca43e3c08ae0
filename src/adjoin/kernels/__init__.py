"""Compiled code: every inner loop, over flat arrays, and nothing else.

Kernels import numpy, and numba only through ``_jit``. They receive the tuples of ``state`` and
never raise: a bad outcome is a returned code or a non-finite number.
"""
