"""An install without extras stays small, by the files that are there, and one for Spark has what Spark needs."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution

import pytest

pytest.importorskip("packaging", reason="pip install packaging")
from needed_distributions import needed
from packaging.requirements import Requirement
from shape_tree import ROOT, modules, named

WITH_NUMPY = (
    *(f"connect/convert/{name}/" for name in ("avro", "json_schema", "protobuf", "registry", "vectors")),
    "connect/spark/",
    *(f"connectors/{name}/" for name in ("bigquery", "cassandra", "jdbc", "s3")),
)  # fmt: skip
ASKS = re.compile(r"^\s*(import|from) numpy|\.to_numpy\(", re.MULTILINE)
MOST_MB = 260
"""The needed distributions take so many megabytes at most, compiled as pip does. A new environment is 310 MB, as
it has this package, pip and setuptools, too.
"""


def size_mb(name: str, *, is_compiled: bool = True) -> float:
    """The size of what a distribution has installed; what pip compiled counts if `is_compiled`."""
    files = (file.locate() for file in distribution(name).files or () if is_compiled or file.suffix != ".pyc")
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


@pytest.mark.parametrize(("extras", "most_mb"), [("s3,jdbc-postgres", 400), ("demo", 1100)])
def test_an_install_with_extras_is_no_larger_than_is_said(extras, most_mb):
    """The unpacked files count. Compiled, a worker with S3 and PostgreSQL takes 440 MB, and the demo takes 1150 MB."""
    names = needed("connect-for-kafka", frozenset(extras.split(","))) - {"connect-for-kafka"}
    sizes = {name: size_mb(name, is_compiled=False) for name in names}
    assert sizes["numpy"] > 30, "the files are counted"
    assert sum(sizes.values()) < most_mb, sorted(sizes.items(), key=lambda pair: -pair[1])[:8]


def test_an_install_without_extras_is_small():
    sizes = {name: size_mb(name) for name in needed("connect-for-kafka") - {"connect-for-kafka"}}
    assert sizes["pyarrow"] > 100, "the files are counted"
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:5]
    assert sum(sizes.values()) < MOST_MB, largest
    assert not {"polars", "duckdb", "numpy", "pyspark", "sqlalchemy"} & sizes.keys()


def test_what_an_install_without_extras_runs_asks_for_no_numpy():
    """Arrow's `to_numpy` needs it, too. Folders that are left out come with an extra that brings it."""
    found = {
        named(path) for folder in ("connect", "connectors") for path in modules(folder)
        if not named(path).startswith(WITH_NUMPY) and ASKS.search(path.read_text(encoding="utf-8"))
    }  # fmt: skip
    assert found == {"connect/api/arrow_rows.py"}, "it goes on without"


def test_an_install_for_spark_has_what_its_functions_over_arrow_need():
    """Spark refuses them without pandas, which nothing else of the product brings along."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (spark,) = [one for one in map(Requirement, extras["spark"]) if one.name == "pyspark"]
    assert "pandas" in needed("pyspark", frozenset(spark.extras))
