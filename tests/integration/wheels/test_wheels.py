"""Installs the wheels that `make wheels` makes outside the repository: the commands work, and the demo moves its
rows.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from connect.tools.services.process.python import find_python

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(3600)]
PYTHONS = ("3.11", "3.12", "3.13")
MINIMAL_MB, WORKER_MB, DEMO_MB = 320, 420, 1200
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
def native(wheels: dict[str, Path]) -> Path:
    return next(path for tag, path in wheels.items() if "abi3" in tag)


def installed(folder: Path, python: str, wheel: Path, extras: str = "") -> Path:
    """The commands of a fresh environment with a wheel and its extras."""
    run(folder, str(find_python(*map(int, python.split(".")))), "-m", "venv", "venv")
    given = f"{wheel}{extras}"
    run(folder, "venv/bin/pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"), given)
    return folder / "venv/bin"


def size_mb(folder: Path) -> float:
    """What files take, one of several names once."""
    found = {(one.st_dev, one.st_ino): one.st_size for one in map(os.lstat, folder.rglob("*"))
             if stat.S_ISREG(one.st_mode)}  # fmt: skip
    return sum(found.values()) / 1e6


def test_one_wheel_has_the_native_code_and_one_is_for_all_platforms(wheels: dict[str, Path]) -> None:
    assert {tag.partition("-manylinux_")[0] for tag in wheels} == {"cp311-abi3", "py3-none-any"}
    names = {tag: set(zipfile.ZipFile(path).namelist()) for tag, path in wheels.items()}
    native, pure = (next(held for tag, held in names.items() if mark in tag) for mark in ("abi3", "none"))
    assert {name for name in native if name.endswith(".so")} == NATIVE
    assert {name for name in native - pure if ".dist-info/" not in name} == NATIVE
    assert {"connect/rest/ui/templates/base.html.j2", "connect/tools/demo/configs/demo/lake-sink.json"} <= pure


def test_the_native_wheel_is_for_systems_with_an_old_glibc(native: Path) -> None:
    assert f"-manylinux_2_17_{platform.machine()}.whl" in native.name
    asked = [line for line in run(native.parent, "../.venv/bin/auditwheel", "show", str(native)).splitlines() if line]
    assert f'"manylinux_2_17_{platform.machine()}"' in " ".join(asked)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("kind", ["native", "pure"])
def test_a_wheel_serves_each_python(wheels: dict[str, Path], tmp_path: Path, python: str, kind: str) -> None:
    wheel = next(path for tag, path in wheels.items() if ("abi3" in tag) is (kind == "native"))
    commands = installed(tmp_path, python, wheel)
    assert size_mb(tmp_path / "venv") < MINIMAL_MB
    assert run(tmp_path, str(commands / "python"), "-I", "-c", _HAS_NATIVE) == f"{kind == 'native'}\n"
    assert "FileStreamSource" in run(tmp_path, str(commands / "connect"), "reference")
    shutil.rmtree(tmp_path / "venv")


_LOADS = """
from connect.plugins.catalog import Catalog
catalog = Catalog.installed()
for name in ("S3SinkConnector", "JdbcSourceConnector", "JdbcSinkConnector", "PostgresConnector"):
    catalog.load(catalog.connector(name))
from connectors.jdbc.native import libpq_module
print(libpq_module() is not None)
"""
# A virtual environment brings these along, those of one Python more than those of another.
_INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")


@pytest.mark.parametrize("python", PYTHONS)
def test_a_worker_from_postgresql_to_s3_is_small(native: Path, tmp_path: Path, python: str) -> None:
    commands = installed(tmp_path, python, native, "[s3,jdbc-postgres]")
    (packages,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    installers = sum(size_mb(folder) for name in _INSTALLERS for folder in packages.glob(f"{name}*"))
    assert size_mb(tmp_path / "venv") - installers < WORKER_MB
    assert run(tmp_path, str(commands / "python"), "-I", "-c", _LOADS) == "True\n"
    shutil.rmtree(tmp_path / "venv")


@pytest.mark.parametrize("python", PYTHONS)
def test_the_native_wheel_moves_the_demo_outside_the_repository(native: Path, tmp_path: Path, python: str) -> None:
    commands = installed(tmp_path, python, native, "[demo]")
    assert size_mb(tmp_path / "venv") < DEMO_MB
    environ = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}
    environ.pop("PYTHONPATH", None)
    assert run(tmp_path, str(commands / "connect"), "--version").startswith("connect, version ")
    run(tmp_path, str(commands / "connect"), "demo", "--exit", environ=environ)
    shutil.rmtree(tmp_path / "venv")
