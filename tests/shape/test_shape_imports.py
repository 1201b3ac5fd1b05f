"""Checks that listing plug-ins and asking for help stay cheap, and that the import rules cover every package.

A new package of connect/ is added to the lists of .importlinter that these tests name.
"""

from __future__ import annotations

import configparser
import subprocess
import sys

import pytest
from shape_tree import ROOT, modules, named

HEAVY = ("pyarrow", "polars", "pandas", "numpy", "sqlalchemy", "obstore", "pyspark", "confluent_kafka", "aiohttp")
DECLARATIONS = [path for path in modules("connectors", "connect") if path.name in {"plugin.py", "config.py"}]
PACKAGES = sorted({path.parent.name for path in (ROOT / "connect").glob("*/__init__.py")})
FREE_OF_LAYERS = {"testing", "tools"}
"""Packages beside the layers: they start services for, and test, what the layers hold. Tools have layers
of their own."""


PROBE = """
import os, sys
import pydantic, pluggy
for code in sys.argv[2:]:
    if os.fork() == 0:
        exec(code)
        print(*(name for name in sys.argv[1].split() if name in sys.modules), flush=True)
        os._exit(0)
    os.wait()
"""
"""Runs each code in a process of its own that has what every declaration loads."""


def imported(*codes: str) -> list[set[str]]:
    """The heavy packages that an interpreter has loaded after each of these codes."""
    command = [sys.executable, "-c", PROBE, " ".join(HEAVY), *codes]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = [set(line.split()) for line in done.stdout.splitlines()[-len(codes) :]]
    assert len(loaded) == len(codes), done.stderr
    return loaded


def test_a_declaration_loads_no_driver() -> None:
    modules_ = [named(path).removesuffix(".py").replace("/", ".") for path in DECLARATIONS]
    codes = [f"import {module}" for module in modules_]
    (together,) = imported("\n".join(codes))
    loaded = dict(zip(modules_, imported(*codes), strict=True)) if together else {}
    assert {module: heavy for module, heavy in loaded.items() if heavy} == {}


def test_help_loads_nothing_heavy() -> None:
    assert imported("from connect.cli import main\nmain(['--help'], standalone_mode=False)") == [set()]


def test_the_contract_loads_nothing_heavy() -> None:
    names = [named(path).removesuffix(".py").replace("/", ".") for path in modules("connect/api")]
    wanted = [name for name in names if not name.endswith("__init__")]
    assert len(wanted) > 15
    assert imported("\n".join(f"import {name}" for name in wanted)) == [set()]


def rules() -> configparser.ConfigParser:
    """The import rules."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter")
    return parser


def listed(contract: str, key: str) -> set[str]:
    """The names of packages in one list of the import rules."""
    words = rules()[f"importlinter:contract:{contract}"][key].replace("|", " ").replace("(", " ").replace(")", " ")
    return {word.removeprefix("connect.") for word in words.split()}


def test_every_package_has_its_layer() -> None:
    assert set(PACKAGES) - listed("layers", "layers") - FREE_OF_LAYERS == set()


@pytest.mark.parametrize("contract", ["connectors-know-the-contract-only", "the-kit-knows-the-contract-only"])
def test_every_package_but_the_contract_is_out_of_bounds(contract: str) -> None:
    assert set(PACKAGES) - {"api", "lib", "testing"} - listed(contract, "forbidden_modules") == set()


def test_every_package_but_three_is_kept_from_the_kafka_client() -> None:
    assert set(PACKAGES) - {"kafka", "tools"} - listed("one-kafka-client", "source_modules") == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_the_architecture_names_every_package(package: str) -> None:
    text = (ROOT / "connect/ARCHITECTURE.md").read_text(encoding="utf-8")
    assert f"connect/{package}" in text or f"{package}/" in text
