"""Starts all Python processes of the product so that none runs code of its working folder or of a user's site.

Connectors may write files into the worker's working folder, and a module there must never replace one of ours or of a
library. A child has the worker's own interpreter, its installed packages and the folders of its PYTHONPATH.
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
"""Is the interpreter that runs this process."""


def command(module: str, *arguments: str, python: str = PYTHON) -> list[str]:
    """Return the command line that runs a module as a program."""
    return [python, *_flags(), "-m", module, *arguments]


def code_command(code: str, *arguments: str, python: str = PYTHON) -> list[str]:
    """Return the command line that runs a piece of our own code."""
    return [python, *_flags(), "-c", code, *arguments]


def alone_command(script: str, *arguments: str) -> list[str]:
    """Return the command line that runs a script with nothing but the standard library."""
    return [PYTHON, "-I", "-S", script, *arguments]


def environment(base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a child: the variables of `base`, and those that keep it and its children to a safe
    path.
    """
    return {**base, **safe_variables(base)}


def safe_variables(base: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a child's environment must have, whatever their values are in `base`.

    An empty entry of PYTHONPATH means the working folder, so it is removed; the others become absolute.
    """
    made = {"PYTHONSAFEPATH": "1"}
    if not _in_user_site():
        made["PYTHONNOUSERSITE"] = "1"
    if "PYTHONPATH" in base:
        folders = [str(Path(entry).absolute()) for entry in base["PYTHONPATH"].split(os.pathsep) if entry]
        made["PYTHONPATH"] = os.pathsep.join(folders)
    return made


def make_safe() -> None:
    """Keep this process, which was forked from a program of the user's, and its children to the path of `start`.

    What it has loaded already stays. What it loads from now on never comes from its working folder, unless that is a
    folder of installed packages, as `pip install --editable` makes it one.
    """
    os.environ.update(safe_variables(os.environ))
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    # A program without -P puts its own folder first; a folder that an installer has added stands further behind.
    if not sys.flags.safe_path and sys.path and sys.path[0] == str(Path.cwd()) and sys.path[0] not in given:
        del sys.path[0]
    foreign = {""} if _in_user_site() else {"", site.getusersitepackages()}
    sys.path[:] = [entry for entry in sys.path if entry not in foreign]


def start(argv: Sequence[str], *, folder: Path | None = None, **options: Any) -> subprocess.Popen[Any]:
    """Start a command of `command` or `code_command` without a shell. `options` are those of `subprocess.Popen`.

    The child works in `folder`, or if that is None in the folder of this process, to which paths in configurations are
    relative.
    """
    environ = options.pop("env", os.environ)
    return subprocess.Popen(argv, cwd=folder or Path.cwd(), env=environment(environ), **options)  # noqa: S603 - see above


def spawn_context() -> SpawnContext:
    """Return the context in which `multiprocessing` starts children of this process as new interpreters.

    The children get this process's own environment, so its variables are made safe first.
    """
    os.environ.update(safe_variables(os.environ))
    return multiprocessing.get_context("spawn")


def _flags() -> tuple[str, ...]:
    return ("-P",) if _in_user_site() else ("-P", "-s")


def _in_user_site() -> bool:
    """Tell if this program is installed for one user alone (`pip install --user`): its children need that folder
    then.
    """
    return bool(site.ENABLE_USER_SITE) and Path(__file__).is_relative_to(site.getusersitepackages())
