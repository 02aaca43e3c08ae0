"""FMUs around exported C: source code that the importing tool compiles, and a binary where asked.

Receives a `Model` or an `Ensemble`; writes one file for FMI 3.0 or 2.0, co-simulation with the
sampling time as its step. The same model makes the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import sys
import uuid
import zipfile
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING

from adjoin.errors import AdjoinError
from adjoin.export.c_code import c_code
from adjoin.export.c_ensemble import c_ensemble
from adjoin.export.card import Card
from adjoin.export.compiling import EXACT, require_compiler, run_program, workplace
from adjoin.export.ensemble import Ensemble
from adjoin.export.model_description import build_description, describe_fmu
from adjoin.export.variables import find_variables, wiring_text
from adjoin.files import write_whole

if TYPE_CHECKING:
    from adjoin.model import Model

VERSIONS = (2, 3)
_MADE = (1980, 1, 1, 0, 0, 0)  # the first date that a zip file has: the same at all times


def write_fmu(
    subject: Model | Ensemble,
    path: str | os.PathLike[str],
    fmi: int = 3,
    step: float | None = None,
    name: str = "model",
    binary: bool = False,
    card: Card | None = None,
) -> None:
    """Write an FMU, whole or not at all.

    Inputs are held between samples. At a communication point the outputs are those of that sample,
    given the inputs as they are set. Before the first sample inputs were at rest, and the output at
    the value of the parameter that is called as the output with ``_start`` behind it.

    Parameters
    ----------
    subject : Model or Ensemble
        What is in it; of an ensemble the outputs are mean, standard deviations and bands.
    path : path
        Where to; it ends in .fmu.
    fmi : int
        Version of the standard, 2 or 3.
    step : float, optional
        Seconds between two samples. Default: those of the data the model was fitted to.
    name : str
        The model's, of letters, digits and underscores.
    binary : bool
        Whether to compile it for this machine too; without, no compiler is needed.
    card : Card, optional
        Units, sampling time and origin. Default: what the model knows of them.
    """
    if not os.fspath(path).endswith(".fmu"):
        raise AdjoinError(f"'{os.fspath(path)}' is to be an FMU; let its name end in .fmu")
    files = fmu_files(subject, fmi, step, name, card)
    if binary:
        files |= _compiled(files, fmi, name)
    write_whole(path, zipped(files))


def fmu_files(
    subject: Model | Ensemble,
    fmi: int = 3,
    step: float | None = None,
    name: str = "model",
    card: Card | None = None,
) -> dict[str, bytes]:
    """What an FMU without a binary holds, by path."""
    if fmi not in VERSIONS:
        raise AdjoinError(f"fmi must be 2 or 3, not {fmi!r}")
    if name.startswith("adjoin_"):
        raise AdjoinError(f"an FMU cannot be called '{name}', as files in it are; choose another")
    models = list(subject.models) if isinstance(subject, Ensemble) else [subject]
    model = models[0]
    card = card or Card.of(model)
    if step is not None:
        card = Card(card.units, step, card.origin)
    card = card.with_step()
    assert card.step is not None
    if isinstance(subject, Ensemble):
        code = c_ensemble(subject, name, card=card)
    else:
        code = c_code(subject, name, card=card)
    variables = find_variables(model, code, card)
    glue = f"adjoin_fmi{fmi}.c"
    kept = [glue, f"adjoin_fmi{fmi}_types.h", "adjoin_instance.h"]
    sources = {f"{name}.c": code.source, f"{name}.h": code.header}
    sources |= {file: _text_of(file) for file in kept}
    compiled = [f"{name}.c", glue]
    is_direct = any(a.lag == 0 for m in models for term in m.structure for a in term)
    draft = wiring_text(model, code, card, variables, "")
    token = _token([*sources.values(), draft, str(fmi)])
    sources["adjoin_wiring.h"] = wiring_text(model, code, card, variables, token)
    what = f"{model.names.output}(k), found by adjoin. {card.provenance}"
    description = describe_fmu(fmi, name, token, what, card.step, variables, compiled, is_direct)
    files = {"modelDescription.xml": description}
    if fmi == 3:
        files["sources/buildDescription.xml"] = build_description(name, compiled)
    return files | {f"sources/{file}": text.encode() for file, text in sources.items()}


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip file of these files, the same bytes at all times."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files, key=lambda name: (name != "modelDescription.xml", name)):
            entry = zipfile.ZipInfo(name, _MADE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, files[name], compresslevel=6)
    return content.getvalue()


def _text_of(file: str) -> str:
    """C that is the same for every model."""
    folder = resources.files("adjoin.export").joinpath("sources")
    return folder.joinpath(file).read_text(encoding="utf-8")


def _token(parts: list[str]) -> str:
    """A name for exactly this content."""
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return f"{{{uuid.UUID(bytes=digest[:16], version=5)}}}"


def _place(fmi: int) -> tuple[str, str]:
    """The folder of this machine's binaries, and how they end."""
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform)
    machine = {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}.get(
        platform.machine().lower()
    )
    ending = {"linux": ".so", "darwin": ".dylib", "windows": ".dll"}.get(system or "", "")
    if system is None or machine is None or (fmi == 2 and machine != "x86_64"):
        raise AdjoinError(
            f"FMI {fmi}.0 has no name for binaries of this machine ({sys.platform},"
            f" {platform.machine()}); leave out the binary, and let the importing tool compile"
        )
    if fmi == 3:
        return f"{machine}-{system}", ending
    return {"linux": "linux64", "darwin": "darwin64", "windows": "win64"}[system], ending


def _compiled(files: Mapping[str, bytes], fmi: int, name: str) -> dict[str, bytes]:
    """A shared library for this machine."""
    compiler = require_compiler("a binary in an FMU")
    folder_name, ending = _place(fmi)
    texts = {
        path.removeprefix("sources/"): content.decode()
        for path, content in files.items()
        if path.startswith("sources/")
    }
    library = f"{name}{ending}"
    with workplace(texts) as folder:
        sources = [f"{name}.c", f"adjoin_fmi{fmi}.c"]
        flags = ["-std=c99", *EXACT, "-fPIC", "-shared", "-DADJOIN_OWN_FMI"]
        run_program([*compiler, *flags, *sources, "-o", library, "-lm"], folder, "the compiler")
        return {f"binaries/{folder_name}/{library}": (folder / library).read_bytes()}
