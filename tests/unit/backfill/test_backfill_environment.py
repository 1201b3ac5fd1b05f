"""Checks what goes into the environment of executors, and what is said where it is not enough."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError

from connect.api.errors import ConfigError, ConnectError
from connect.backfill.engines.spark import SparkEngine, collected, python_variables, spark_settings
from connect.backfill.engines.spark_errors import refused, remedy
from connect.backfill.job.spec import Engine
from connect.backfill.package import needed, write_metadata


def test_an_archive_is_given_to_spark_with_its_python():
    settings = spark_settings(Engine(master="spark://m:7077", python_env="env.tar.gz"))
    assert (settings["spark.archives"], settings["spark.pyspark.python"]) == ("env.tar.gz#env", "./env/bin/python")


def test_the_python_of_an_archive_counts_whatever_the_users_shell_says():
    shell = {"PYSPARK_PYTHON": "/usr/bin/python3"}
    packed = spark_settings(Engine(master="spark://m:7077", python_env="env.tar.gz"))
    assert python_variables(packed, shell)["PYSPARK_PYTHON"] == "./env/bin/python"
    own = spark_settings(Engine(conf={"spark.pyspark.python": "/opt/python3"}))
    assert python_variables(own, shell)["PYSPARK_PYTHON"] == "/opt/python3"
    assert python_variables(spark_settings(Engine()), shell)["PYSPARK_PYTHON"] == "/usr/bin/python3"
    ours = python_variables(spark_settings(Engine()), {})
    assert ours == {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


@pytest.mark.parametrize(("cores", "memory"), [({}, "784m"), ({"spark.executor.cores": "4"}, "1984m")])
@pytest.mark.parametrize("master", ["yarn", "k8s://https://c:6443"])
def test_a_container_has_memory_for_the_lanes_beside_its_jvm(master: str, cores: dict[str, str], memory: str):
    asked = spark_settings(Engine(master=master, conf=cores))
    assert asked["spark.executor.minMemoryOverhead"] == memory
    own = {**cores, "spark.executor.minMemoryOverhead": "1g"}
    assert spark_settings(Engine(master=master, conf=own))["spark.executor.minMemoryOverhead"] == "1g"


def test_yarn_without_its_clusters_configuration_is_refused_before_a_jvm_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConnectError, match=r"neither HADOOP_CONF_DIR.*folder of the cluster's core-site.xml"):
        SparkEngine(Engine(master="yarn"), "job")
    monkeypatch.setenv("YARN_CONF_DIR", str(tmp_path))
    SparkEngine(Engine(master="yarn"), "job")


def test_what_is_not_installed_is_named_unless_nobody_asked_for_it():
    def find(name: str):
        if name == "cassandra-driver":
            raise PackageNotFoundError(name)
        return distribution(name)

    assert "psycopg" in needed(find, ("jdbc-postgres", "cassandra"), skip_missing=True)
    with pytest.raises(ConfigError, match=r"Extra cassandra is not installed.*cassandra-driver"):
        needed(find, ("cassandra",))
    found = needed(distribution, ("jdbc-postgres",))
    assert {"connect-for-kafka", "pyarrow", "sqlalchemy", "psycopg-binary"} <= found.keys()
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
        ("java.net.ConnectException: ...; see: http://wiki.apache.org/hadoop/UnsetHostnameOrPort", "yarn-site.xml"),
        ("Required executor memory (8192 MB) is above the max threshold (4096 MB)", "spark.executor.memory"),
        ("java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.", "engine.master"),
        ("All masters are unresponsive! Giving up.", "engine.master"),
        ("java.lang.IllegalStateException: SparkContext has been shutdown", "spark.driver.host"),
        ('the return value of "org.apache.spark.SparkContext.dagScheduler()" is null', "spark.driver.host"),
        ("Cannot assign requested address: Service 'sparkDriver' failed after 16 retries", "spark.driver.bindAddress"),
        ("Failed to submit application_1 to YARN : submitted by user root to unknown queue: q", "spark.yarn.queue"),
        ("No space available in any of the local directories on vm/127.0.0.1", "max-disk-utilization-per-disk"),
        ("Diagnostics: File file:/home/me/.sparkStaging/conf.zip does not exist", "spark.yarn.stagingDir"),
    ],
)
def test_each_trap_of_a_cluster_has_its_fix(words: str, fix: str):
    assert fix in (remedy(words) or "")


JAVA_TRACE = (
    "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
    ": io.fabric8.kubernetes.client.KubernetesClientException: An error has occurred.\n"
    "\tat io.fabric8.kubernetes.client.KubernetesClientException.launderThrowable\n"
    "Caused by: java.io.IOException: Connection refused: /127.0.0.1:1\n\t... 35 more\n"
    "Caused by: java.net.ConnectException: Connection refused\n\tat java.base/sun.nio\n\t... 35 more\n"
)


class JavaError(Py4JJavaError):
    """One whose Java is a text."""

    def __init__(self, trace: str) -> None:
        self.trace = trace

    def __str__(self) -> str:
        return self.trace


def test_what_a_master_refused_is_told_with_its_last_cause():
    told = str(refused(JavaError(JAVA_TRACE)))
    assert "An error has occurred. Caused by: java.net.ConnectException: Connection refused" in told
    assert "check engine.master" in told
    alone = str(refused(JavaError(": java.lang.IllegalArgumentException: 8192 MB is above the max threshold\n")))
    assert "java.lang.IllegalArgumentException: 8192 MB is above the max threshold. YARN gives" in alone


def test_why_yarns_containers_failed_is_told():
    trace = (
        ": org.apache.spark.SparkException: Application a_1 failed 2 times due to AM Container, exitCode: -1000\n"
        "Failing this attempt.Diagnostics: File file:/home/me/.sparkStaging/conf.zip does not exist\n"
        ". Failing the application.\n\tat org.apache.spark.SparkContext.<init>(SparkContext.scala:632)\n"
    )
    assert "Diagnostics: File file:/home/me/.sparkStaging/conf.zip does not exist" in str(refused(JavaError(trace)))


def test_a_task_that_java_ended_is_told_as_one_that_python_ended():
    class Frame:
        def mapInArrow(self, *_: object) -> Frame:  # noqa: N802 - Spark's name
            return self

        def collect(self) -> None:
            raise JavaError(
                ": org.apache.spark.SparkException: Job aborted\n"
                "\tat org.apache.spark.sql.execution.QueryExecution$.withInternalError(QueryExecution.scala:927)\n"
                "Caused by: ExecutorLostFailure (executor 1)"
            )

    class Session:
        def range(self, *_: int) -> Frame:
            return Frame()

    with pytest.raises(ConnectError, match=r"Job aborted Caused by: ExecutorLostFailure.*their logs say why"):
        collected(Session(), str, [1])


def test_an_archive_that_is_not_there_is_told_before_spark_is_started(tmp_path: Path):
    with pytest.raises(ConnectError, match=r"There is no file .*none.tar.gz.*connect backfill package"):
        SparkEngine(Engine(master="spark://m:7077", python_env=str(tmp_path / "none.tar.gz")), "job")
