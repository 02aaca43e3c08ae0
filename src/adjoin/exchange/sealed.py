"""HDF5 content with a seal behind it, so that damage is found before libhdf5 sees it.

A damaged HDF5 file can crash or hang the library that reads it. So a short text follows the HDF5
content: the schema, and the SHA-256 of every byte before the digest. HDF5 and netCDF programs
ignore it, because HDF5 content knows its own length. Receives bytes from `run_file`, and hands
them back only if not a bit of them has changed.
"""

from __future__ import annotations

import hashlib
import os
import re

from adjoin.errors import AdjoinError
from adjoin.files import opened

FORMAT = "adjoin-run"

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HEAD_SIZE = 65_536  # where root attributes are, which name the format
_SEAL = re.compile(rb"\nadjoin-run schema (\d{8}) sha256 ([0-9a-f]{64})\n")
_DIGEST_SIZE = 64 + 1
_REMEDY = "pass what adjoin discover --out, adjoin fit --out or Posterior.save wrote"
_SEAL_SIZE = len(f"\n{FORMAT} schema 00000000 sha256 ") + _DIGEST_SIZE


def seal(content: bytes, schema: int) -> bytes:
    """HDF5 content with its seal."""
    signed = content + f"\n{FORMAT} schema {schema:08d} sha256 ".encode()
    return signed + hashlib.sha256(signed).hexdigest().encode() + b"\n"


def read_sealed(path: str | os.PathLike[str], schema: int) -> bytes:
    """The HDF5 content of a sealed file of a schema up to `schema`.

    Raises
    ------
    AdjoinError
        If there is no such file, and if it is empty, cut short, damaged, another program's, or a
        newer adjoin's.
    """
    with opened(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _SEAL_SIZE, 0))
        found = _SEAL.fullmatch(file.read())
        file.seek(0)
        if found is None:
            raise AdjoinError(f"'{path}' {_unsealed(file.read(_HEAD_SIZE), size)}")
        whole = file.read()
    if hashlib.sha256(whole[:-_DIGEST_SIZE]).hexdigest().encode() != found[2]:
        raise AdjoinError(
            f"'{path}' is damaged: its content and its checksum differ; use another copy, or save"
            " the run again"
        )
    if int(found[1]) > schema:
        raise AdjoinError(
            f"'{path}' was written by a newer adjoin (schema {int(found[1])}, this one reads up to"
            f" {schema}); update adjoin"
        )
    return whole[:-_SEAL_SIZE]


def is_run(path: str | os.PathLike[str]) -> bool:
    """Whether a file ends as saved runs do; what cannot be read is none."""
    try:
        with opened(path) as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _SEAL_SIZE, 0))
            return _SEAL.fullmatch(file.read()) is not None
    except AdjoinError:
        return False


def _unsealed(head: bytes, size: int) -> str:
    """What a file is that does not end in a seal."""
    if not head:
        return "is empty; save the run again"
    if not head.startswith(_HDF5_SIGNATURE):
        return f"is not a saved run but another kind of file; {_REMEDY}"
    end = _content_size(head)
    if end > size:
        return f"is cut short: it has {size} of more than {end} bytes; save or copy it again"
    if FORMAT.encode() in head:
        return "is damaged: its end is missing or changed; use another copy, or save the run again"
    return f"is an HDF5 or netCDF file of another program, not a saved run; {_REMEDY}"


def _content_size(head: bytes) -> int:
    """Where HDF5 content ends, as its superblock says (HDF5 file format, section II.A)."""
    version = head[8] if len(head) > 8 else 0
    place = 40 if version < 2 else 28
    return int.from_bytes(head[place : place + 8], "little") if len(head) >= 48 else 48
