"""Starts every Python process of the product: none runs code from the folder it works in, or from a user's site.

Connectors may write files where the worker works: a module there must never stand for one of ours or of a library.
What runs is the worker's own interpreter, its installed packages and the folders of its PYTHONPATH.
"""

from __future__ import annotations

import multiprocessing
import os
import site
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any, Final

PYTHON: Final = sys.executable
"""The interpreter that runs this process."""


def command(module: str, *arguments: str, python: str = PYTHON) -> list[str]:
    """Return the command line that runs a module as a program."""
    return [python, *_flags(), "-m", module, *arguments]


def code_command(code: str, *arguments: str, python: str = PYTHON) -> list[str]:
    """Return the command line that runs a piece of our own code."""
    return [python, *_flags(), "-c", code, *arguments]


def alone_command(script: str, *arguments: str) -> list[str]:
    """Return the command line that runs a script with the standard library alone."""
    return [PYTHON, "-I", "-S", script, *arguments]


def environment(base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables of a child: those of `base`, and what keeps it and its own children to a safe path."""
    return {**base, **safe_variables(base)}


def safe_variables(base: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a child's environment has to have, whatever `base` says of them.

    An empty entry of PYTHONPATH stands for the folder that a program works in, so it goes; the others become absolute.
    """
    made = {"PYTHONSAFEPATH": "1"}
    if not _in_user_site():
        made["PYTHONNOUSERSITE"] = "1"
    if "PYTHONPATH" in base:
        folders = [str(Path(entry).absolute()) for entry in base["PYTHONPATH"].split(os.pathsep) if entry]
        made["PYTHONPATH"] = os.pathsep.join(folders)
    return made


def start(argv: Sequence[str], *, folder: Path | None = None, **options: Any) -> subprocess.Popen[Any]:
    """Start a command of `command` or `code_command`; `options` as `subprocess.Popen` has them, without a shell.

    It works in `folder`: None is the folder of this process, to which the paths of configurations are relative.
    """
    environ = options.pop("env", os.environ)
    return subprocess.Popen(argv, cwd=folder or Path.cwd(), env=environment(environ), **options)  # noqa: S603 - see above


def spawn_context() -> SpawnContext:
    """Return the context in which `multiprocessing` starts children of this process from nothing.

    It passes on this process's own environment, which therefore has to be a safe one.
    """
    os.environ.update(safe_variables(os.environ))
    return multiprocessing.get_context("spawn")


def _flags() -> tuple[str, ...]:
    return ("-P",) if _in_user_site() else ("-P", "-s")


def _in_user_site() -> bool:
    """Tell if this program itself is installed for one user alone (`pip install --user`), so that a child needs it."""
    return bool(site.ENABLE_USER_SITE) and Path(__file__).is_relative_to(site.getusersitepackages())
