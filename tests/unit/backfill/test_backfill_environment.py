"""What goes into the environment of executors, and what is said where it is not enough."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

import pytest

from connect.api.errors import ConfigError
from connect.backfill.engines.spark import remedy, spark_settings
from connect.backfill.package import needed, write_metadata
from connect.backfill.spec import Engine


def test_an_archive_is_given_to_spark_with_its_python():
    settings = spark_settings(Engine(master="spark://m:7077", python_env="env.tar.gz"))
    assert (settings["spark.archives"], settings["spark.pyspark.python"]) == ("env.tar.gz#env", "./env/bin/python")


def test_what_is_not_installed_is_named_unless_nobody_asked_for_it():
    def find(name: str):
        if name == "cassandra-driver":
            raise PackageNotFoundError(name)
        return distribution(name)

    assert "psycopg" in needed(find, ("jdbc-postgres", "cassandra"), skip_missing=True)
    with pytest.raises(ConfigError, match=r"Extra cassandra is not installed.*cassandra-driver"):
        needed(find, ("cassandra",))
    found = needed(distribution, ("jdbc-postgres",))
    assert {"connect-for-kafka", "pyarrow", "adbc-driver-postgresql", "psycopg-binary"} <= found.keys()
    assert not {"pyspark", "pytest", "duckdb"} & found.keys()


@pytest.mark.parametrize("metadata", ["METADATA", "PKG-INFO"], ids=["installed", "beside its sources"])
def test_plug_ins_are_found_in_an_environment_wherever_it_was_packed(metadata: str, tmp_path: Path):
    source, place = tmp_path / "source", tmp_path / "place"
    folder = source / ("p.dist-info" if metadata == "METADATA" else "p.egg-info")
    folder.mkdir(parents=True)
    (folder / metadata).write_text("Metadata-Version: 2.1\nName: connect-for-kafka\nVersion: 1.2\n")
    (folder / "entry_points.txt").write_text("[connect.plugins]\njdbc = connectors.jdbc.plugin\n")
    (given,) = distributions(path=[str(source)])
    write_metadata(given, place)
    (found,) = distributions(path=[str(place)])
    assert (found.name, found.version) == ("connect-for-kafka", "1.2")
    assert [(point.group, point.name) for point in found.entry_points] == [("connect.plugins", "jdbc")]


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ("ModuleNotFoundError: No module named 'connect'", "connect backfill package env.tar.gz"),
        ('java.io.IOException: Cannot run program "./env/bin/python": error=2', "--python"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12", "minor version"),
        ("java.lang.UnsupportedClassVersionError: class file version 61.0", "JAVA_HOME"),
        ("All masters are unresponsive! Giving up.", "engine.master"),
    ],
)
def test_each_trap_of_a_cluster_has_its_fix(words: str, fix: str):
    assert fix in (remedy(words) or "")
