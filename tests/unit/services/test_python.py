"""Checks which Python runs a service of its own."""

import sys
from pathlib import Path

import pytest

from connect.tools.services import PythonNotFoundError
from connect.tools.services.process.python import find_python

OTHER = (2, 9)
"""A version that no machine has."""


def python_printing(answer: str, at: Path, name: str = "python2.9") -> Path:
    at.mkdir(parents=True, exist_ok=True)
    python = at / name
    python.write_text(f"#!/bin/sh\n{answer}\n")
    python.chmod(0o755)
    return python


def test_the_running_python_is_taken_when_its_version_is_right() -> None:
    assert find_python(*sys.version_info[:2], environ={}) == Path(sys.executable)


def test_a_shim_that_runs_nothing_is_passed_over_for_the_one_of_pyenv(tmp_path: Path) -> None:
    shim = python_printing("echo 'pyenv: python2.9: command not found' >&2; exit 127", tmp_path / "shims")
    real = python_printing("echo 2 9", tmp_path / "pyenv" / "versions" / "2.9.1" / "bin")
    assert find_python(*OTHER, environ={"PATH": str(shim.parent), "PYENV_ROOT": str(tmp_path / "pyenv")}) == real


def test_uv_is_asked_last(tmp_path: Path) -> None:
    real = python_printing("echo 2 9", tmp_path / "elsewhere")
    uv = python_printing(f"echo {real}", tmp_path / "bin", name="uv")
    assert find_python(*OTHER, environ={"PATH": str(uv.parent), "PYENV_ROOT": str(tmp_path)}) == real


def test_a_missing_python_is_named_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(PythonNotFoundError, match=r"No Python 2\.9 found.*pyenv install 2\.9"):
        find_python(*OTHER, environ={"PATH": "", "PYENV_ROOT": str(tmp_path)})
