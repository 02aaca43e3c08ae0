"""The one decorator that compiles, and the cache it compiles into.

Plain ``cache=True`` keys a compiled function by its own file only: edit a callee or a constant in
another file and the stale machine code runs on. So the cache directory is named by a hash of all
kernel sources; any edit starts a fresh one.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

KernelT = TypeVar("KernelT", bound=Callable[..., Any])


def _cache_root() -> Path:
    """The user's cache folder, where any platform keeps such things."""
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(folder)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base) / "adjoin" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "adjoin"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adjoin"


def _source_hash() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _cache_dir() -> str | None:
    """The folder to cache in, made if need be; None where the machine offers no place to write.

    The folder must be the user's own: compiled code is loaded from it.
    """
    scratch = Path(tempfile.gettempdir()) / f"adjoin-{getattr(os, 'getuid', int)()}"
    for root in (_cache_root(), scratch):
        folder = root / _source_hash()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_own = not hasattr(os, "getuid") or root.stat().st_uid == os.getuid()
        except OSError:
            continue
        if is_own and os.access(folder, os.W_OK):
            return str(folder)
    return None


CACHE_DIR = _cache_dir()


def kernel(entry: bool = False, **options: Any) -> Callable[[KernelT], KernelT]:
    """Compile a module-level function: cached, without the GIL, with IEEE division.

    Only an `entry` can be called from Python. The others are called by kernels alone: they come
    without the wrapper that Python would need, which halves the time to compile, and without
    reference counting, which halves the time to run and makes an allocation a compile-time error.
    (An entry needs the counts, or every call would leak its generator.)

    Typed as the identity, so that callers keep the signature of what they wrote.
    """
    options |= {"no_cfunc_wrapper": True, "no_cpython_wrapper": not entry, "_nrt": entry}

    def decorate(function: KernelT) -> KernelT:
        # numba reads CACHE_DIR while it decorates; restoring it leaves other packages alone.
        previous, numba.config.CACHE_DIR = numba.config.CACHE_DIR, CACHE_DIR or ""
        try:
            compiled: KernelT = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(
                function
            )
        finally:
            numba.config.CACHE_DIR = previous
        return compiled

    return decorate


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether an entry is compiled already, in this process or on disk."""
    if getattr(function, "signatures", True):
        return True
    module = function.__module__.rpartition(".")[2]
    name = f"{module}.{function.__qualname__}-*.nbi"
    return CACHE_DIR is not None and any(Path(CACHE_DIR).rglob(name))
