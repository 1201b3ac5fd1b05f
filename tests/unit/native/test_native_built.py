"""The native code is there wherever it can be built: without it all tests pass, and everything is slower."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["connect.native._connect", "connectors.jdbc.native._rows"])
def test_the_native_code_was_built_where_there_is_a_compiler(module: str) -> None:
    compiler = shutil.which(os.environ.get("CXX") or "c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("NOT CHECKED: there is no C++ compiler here")
    found = importlib.util.find_spec(module)
    assert found is not None, f"{compiler} is there, and {module} was not built: run pip install -v -e ."


@pytest.mark.thorough
def test_it_is_left_out_on_demand_and_says_so() -> None:
    code = "import logging; logging.basicConfig(level='INFO'); from connect import native; print(native.module())"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "CONNECT_NATIVE": "off"}, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == "None\n"
    assert "switched off by CONNECT_NATIVE" in done.stderr
