"""Wheels that `make wheels` makes, installed outside the repository: the commands work, and the demo moves its rows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(3600)]
ROOT = Path(__file__).parents[3]
NATIVE = {
    "connect/native/_connect.abi3.so", "connectors/jdbc/native/_rows.abi3.so",
    "connectors/cassandra/native/_cassandra.abi3.so",
}  # fmt: skip
_HAS_NATIVE = "import importlib.util; print(importlib.util.find_spec('connect.native._connect') is not None)"


def run(folder: Path, *command: str, environ: Mapping[str, str] = os.environ) -> str:
    ran = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=1800, check=False
    )  # fmt: skip
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout[-4000:]}{ran.stderr[-4000:]}"
    return ran.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the repository holds, so that nothing built here gets into a wheel."""
    folder = tmp_path_factory.mktemp("wheels") / "source"
    for name in run(ROOT, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheels(tree: Path) -> dict[str, Path]:
    run(tree, "make", "wheels", f"PYTHON={sys.executable}")
    return {path.stem.split("-", 2)[2]: path for path in (tree / "dist").iterdir()}


@pytest.fixture(scope="module")
def installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fresh environment with the native wheel and what the demo needs."""
    folder = tmp_path_factory.mktemp("installed")
    run(folder, sys.executable, "-m", "venv", "venv")
    (native,) = (path for tag, path in wheels.items() if "abi3" in tag)
    run(folder, "venv/bin/pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), f"{native}[demo]")
    yield folder
    shutil.rmtree(folder)


def test_one_wheel_has_the_native_code_and_one_is_for_all_platforms(wheels: dict[str, Path]) -> None:
    assert {tag.partition("-linux_")[0] for tag in wheels} == {"cp311-abi3", "py3-none-any"}
    names = {tag: set(zipfile.ZipFile(path).namelist()) for tag, path in wheels.items()}
    native, pure = (next(held for tag, held in names.items() if mark in tag) for mark in ("abi3", "none"))
    assert {name for name in native if name.endswith(".so")} == NATIVE
    assert {name for name in native - pure if ".dist-info/" not in name} == NATIVE
    assert {"connect/rest/ui/templates/base.html.j2", "connect/tools/demo/configs/demo/lake-sink.json"} <= pure


def test_the_native_wheel_moves_the_demo_outside_the_repository(installed: Path) -> None:
    environ = {**os.environ, "PATH": f"{installed}/venv/bin:{os.environ['PATH']}"}
    environ.pop("PYTHONPATH", None)
    assert run(installed, "venv/bin/connect", "--version").startswith("connect, version ")
    assert run(installed, "venv/bin/python", "-I", "-c", _HAS_NATIVE) == "True\n"
    run(installed, "venv/bin/connect", "demo", "--exit", environ=environ)
