"""The native code is there wherever it can be built: without it all tests pass, and everything is slower."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from connect import native
from connect.lib.native_build import is_stale, sources_id
from connectors.cassandra import native as cassandra_native
from connectors.jdbc import native as jdbc_native

MODULES = ("connect.native._connect", "connectors.jdbc.native._rows", "connectors.cassandra.native._cassandra")


@pytest.mark.parametrize("module", MODULES)
def test_the_native_code_was_built_where_there_is_a_compiler(module: str) -> None:
    compiler = shutil.which(os.environ.get("CXX") or "c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("NOT CHECKED: there is no C++ compiler here")
    found = importlib.util.find_spec(module)
    assert found is not None, f"{compiler} is there, and {module} was not built: run pip install -v -e ."


def test_a_module_built_by_a_newer_python_parses_arguments_on_an_older_one() -> None:
    """Headers of Python 3.13 no longer tell an older Python that sizes are of Py_ssize_t, which units with # need."""
    sources = [path for folder in ("connect", "connectors") for path in Path(folder).rglob("native/src/*.[ch]*")]
    assert sources
    assert [str(path) for path in sources if re.search(r'"[^"\n]*[szy]#[^"\n]*"', path.read_text())] == []


@pytest.mark.thorough
def test_it_is_left_out_on_demand_and_says_so() -> None:
    code = "import logging; logging.basicConfig(level='INFO'); from connect import native; print(native.module())"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "CONNECT_NATIVE": "off"}, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == "None\n"
    assert "switched off by CONNECT_NATIVE" in done.stderr


@pytest.mark.parametrize("package", [native, jdbc_native, cassandra_native], ids=MODULES)
def test_a_build_from_other_sources_is_left_out_with_one_clear_line(
    package: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    built = package.module()
    if built is None:
        pytest.skip("NOT CHECKED: there is no native code here")
    monkeypatch.setattr(built, "sources", "s0")
    package.module.cache_clear()
    try:
        assert package.module() is None
        assert package.module() is None
    finally:
        monkeypatch.undo()
        package.module.cache_clear()
    assert package.module() is built
    (line,) = [record.getMessage() for record in caplog.records]
    assert "make setup" in line


def test_sources_that_are_not_installed_say_nothing_and_any_change_to_them_does(tmp_path: Path) -> None:
    assert not is_stale("s0", [tmp_path])
    (tmp_path / "a.cpp").write_text("int a;")
    first = sources_id([tmp_path])
    assert not is_stale(first, [tmp_path])
    (tmp_path / "a.cpp").write_text("int b;")
    assert is_stale(first, [tmp_path])
    assert is_stale(None, [tmp_path])
