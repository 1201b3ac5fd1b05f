"""An install without extras stays small, by the files that are there, and one for Spark has what Spark needs."""

from __future__ import annotations

import tomllib
from importlib.metadata import distribution

import pytest

pytest.importorskip("packaging", reason="pip install packaging")
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from shape_tree import ROOT

MOST_MB = 260
"""Of what is needed, compiled as pip does, this package itself, pip and setuptools apart; a new virtual environment is
310 MB with them.
"""


def needed(name: str, extras: frozenset[str] = frozenset(), known: set[str] | None = None) -> set[str]:
    """The distributions that one needs, itself included."""
    found = set() if known is None else known
    if canonicalize_name(name) in found:
        return found
    found.add(canonicalize_name(name))
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        marks = [{"extra": extra} for extra in extras or [""]]
        if requirement.marker is None or any(requirement.marker.evaluate(mark) for mark in marks):
            needed(requirement.name, frozenset(requirement.extras), found)
    return found


def size_mb(name: str) -> float:
    """The size of what a distribution has installed."""
    files = (file.locate() for file in distribution(name).files or ())
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


def test_an_install_without_extras_is_small():
    sizes = {name: size_mb(name) for name in needed("connect-for-kafka") - {"connect-for-kafka"}}
    assert sizes["pyarrow"] > 100, "the files are counted"
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:5]
    assert sum(sizes.values()) < MOST_MB, largest
    assert not {"polars", "duckdb", "numpy", "pyspark", "sqlalchemy"} & sizes.keys()


def test_an_install_for_spark_has_what_its_functions_over_arrow_need():
    """Spark refuses them without pandas, which nothing else of the product brings along."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (spark,) = [one for one in map(Requirement, extras["spark"]) if one.name == "pyspark"]
    assert "pandas" in needed("pyspark", frozenset(spark.extras))
