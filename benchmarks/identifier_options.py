"""Options of benchmarks that go on to `Identifier`: ``--set center=True --prior noise_scale=1e-9``.

Receives the words of a command line; hands keyword arguments to the scripts beside it.
"""

from __future__ import annotations

import argparse
import ast
import os
from typing import Any

from adjoin import Prior


def add_identifier_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--set`` and ``--prior``."""
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="changed",
        help="an argument of Identifier, as a Python literal; may be repeated",
    )
    parser.add_argument(
        "--prior", metavar="NAME=VALUE,…", help="arguments of adjoin.Prior, as Python literals"
    )


def identifier_settings(options: argparse.Namespace) -> dict[str, Any]:
    """What the options pass on."""
    settings = dict(_pair(text) for text in options.changed)
    if options.prior:
        settings["prior"] = Prior(**dict(_pair(text) for text in options.prior.split(",")))
    return settings


def said(options: argparse.Namespace) -> str:
    """The same in words, for the head of a table; n_jobs changes no figure."""
    parts = [text for text in options.changed if not text.startswith("n_jobs")]
    parts += [f"Prior({options.prior})"] if options.prior else []
    return ", ".join(parts) or "default settings"


def cpu_seconds() -> float:
    """CPU time of this process so far, and of those that it has waited for."""
    return sum(os.times()[:4])


def _pair(text: str) -> tuple[str, Any]:
    name, sign, value = (part.strip() for part in text.partition("="))
    if not (name and sign and value):
        raise SystemExit(f"'{text}' is not NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value  # a word, such as auto
