"""Finds a Python of another version than the running one, for services that need it."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from connect.lib import python_child
from connect.tools.services.process.errors import PythonNotFoundError

_ASK_TIMEOUT_S: Final = 20.0


def find_python(major: int, minor: int, environ: Mapping[str, str] = os.environ) -> Path:
    """Find a Python of this version: the running one, on the PATH, pyenv's or uv's. PythonNotFoundError says what to
    do.

    Each candidate is asked for its version, as pyenv's shims are on the PATH even if pyenv has no such Python.
    """
    for candidate in _candidates(major, minor, environ):
        if _version(candidate) == (major, minor):
            return candidate
    raise PythonNotFoundError(
        f"No Python {major}.{minor} found: not on the PATH, not in pyenv, not in uv.",
        fix=f"Install it, for instance with: pyenv install {major}.{minor} or: uv python install {major}.{minor}.",
    )


def _candidates(major: int, minor: int, environ: Mapping[str, str]) -> Iterator[Path]:
    name = f"python{major}.{minor}"
    yield Path(python_child.PYTHON)
    on_path = shutil.which(name, path=environ.get("PATH", ""))
    if on_path is not None:
        yield Path(on_path)
    pyenv = Path(environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{major}.{minor}.*/bin/{name}"), reverse=True)
    uv = shutil.which("uv", path=environ.get("PATH", ""))
    if uv is not None:
        answer = _answer([uv, "python", "find", "--no-project", f"{major}.{minor}"])
        if answer:
            yield Path(answer)


def _version(python: Path) -> tuple[int, ...] | None:
    answer = _answer([str(python), "-I", "-c", "import sys; print(*sys.version_info[:2])"])
    return tuple(int(part) for part in answer.split()) if answer else None


def _answer(argv: list[str]) -> str:
    """Return what the command prints; an empty text if it cannot be run or fails."""
    try:
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=_ASK_TIMEOUT_S, check=False)  # noqa: S603 - the command is built here, without a shell
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""
