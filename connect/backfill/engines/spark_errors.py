"""Explains errors of Spark and its clusters, each with its fix."""

from __future__ import annotations

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from connect.api.errors import ConnectError
from connect.backfill.job.spec import Engine as EngineSpec

_REMEDIES: Final = (
    (r"PYTHON_VERSION_MISMATCH|Python in worker has different version",
     ("Executors have another minor version of Python: package the environment with theirs "
     "(`connect backfill package`), or run the driver with it.")),
    (r"Cannot run program .*python", ("Executors have no such Python: name theirs by `connect backfill package "
     "--python /path/of/python3.x`, and the archive under engine.python_env.")),
    (r"ModuleNotFoundError|No module named", ("Executors lack a package: run `connect backfill package env.tar.gz` and "
     "write engine: {python_env: env.tar.gz}.")),
    (r"UnsupportedClassVersionError", "Spark 4 needs Java 17 or later: set JAVA_HOME to one."),
    (r"Could not resolve|FileNotFoundException.*\.jar|ivy", ("A package or jar cannot be had: see engine.packages, "
     "engine.jars.")),
    (r"UnsetHostnameOrPort", ("The cluster's addresses are not known: HADOOP_CONF_DIR must name the folder of its "
     "yarn-site.xml, with yarn.resourcemanager.hostname.")),
    (r"above the max threshold", ("YARN gives no container of that size: ask for less (conf: spark.executor.memory, "
     "spark.executor.cores), or raise what its message names.")),
    (r"unknown queue", "Name a queue that the cluster has (conf: spark.yarn.queue)."),
    (r"No space available in any of the local directories", ("The disk of a node is fuller than its YARN lets it be: "
     "free some of it, or raise yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage there.")),
    (r"\.sparkStaging/.* does not exist", ("The cluster's nodes must see what this machine stages for them: name a "
     "file system of both by fs.defaultFS of core-site.xml (or conf: spark.yarn.stagingDir).")),
    (r"Service 'sparkDriver' failed", ("This machine has no such address: name one of its own (conf: "
     "spark.driver.host), or beside the one by which executors reach it spark.driver.bindAddress.")),
    (r"SparkContext has been shutdown|SparkContext\.dagScheduler", ("The application ended: the log above says why. "
     "Its machines must reach the driver (conf: spark.driver.host). What is committed stays, and the same command goes "
     "on.")),
    (r"ExecutorLostFailure", ("Executors ended while they ran lanes, and their logs say why. Where memory lacked, ask "
     "for more (conf: spark.executor.memoryOverhead). What is committed stays, and the same command goes on.")),
    (r"UnknownHostException|Connection refused|All masters are unresponsive|stopped SparkContext",
     "The master does not answer: check engine.master, and that executors reach the driver (conf: spark.driver.host)."),
)  # fmt: skip
"""Holds patterns of Spark's error texts, each with advice for the reader."""

# YARN tells the reason why its containers failed in further lines.
_JAVA_MESSAGE: Final = re.compile(r"^: (?P<message>.*?)(?=^\s*at |^Caused by: |^\s*$|\Z)", re.MULTILINE | re.DOTALL)
_JAVA_CAUSE: Final = re.compile(r"^Caused by: .*$", re.MULTILINE)


def require_pyspark() -> None:
    """Raise ConnectError if PySpark is not installed."""
    if find_spec("pyspark") is None:
        raise ConnectError(
            "PySpark is not installed.",
            key="engine.type",
            fix="pip install 'connect-for-kafka[spark]', or use engine: {type: local}.",
        )


def require_java() -> None:
    """Raise ConnectError if there is no Java where Spark looks for it."""
    home = os.environ.get("JAVA_HOME")
    found = (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None
    if not found:
        where = f"JAVA_HOME is {home}, which holds no bin/java" if home else "there is no java on the path"
        raise ConnectError(
            f"Spark needs Java 17 or later, and {where}.",
            key="engine.type",
            fix="Install a JDK, or set JAVA_HOME; or use engine: {type: local}, which needs no Java.",
        )


def require_hadoop_conf() -> None:
    """Raise ConnectError if YARN's client would not know where its cluster is."""
    if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
        raise ConnectError(
            "Spark cannot know where YARN is: neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set.",
            key="engine.master",
            fix="Set HADOOP_CONF_DIR to the folder of the cluster's core-site.xml and yarn-site.xml.",
        )


def require_archive(python_env: str | None) -> None:
    """Raise ConnectError if the archive is not there. An address with a scheme (hdfs://, s3a://) is not checked."""
    if python_env and "://" not in python_env and not Path(python_env).is_file():
        raise ConnectError(
            f"There is no file {python_env}.",
            key="engine.python_env",
            fix=f"Write it: connect backfill package {python_env}",
        )


def refused(error: Exception) -> ConnectError:
    """Return the error for a Spark whose JVM runs but whose master refused its request or did not answer."""
    return ConnectError(
        f"Spark did not start: {reason_in(str(error))}",
        key="engine.master",
        fix=remedy(str(error)) or "Its log is above.",
    )


def not_started(spec: EngineSpec, error: Exception) -> ConnectError:
    """Return the error for a Spark whose JVM did not start."""
    if spec.packages:
        return ConnectError(
            f"Spark did not start: it could not fetch {', '.join(spec.packages)}. {error}",
            key="engine.packages",
            fix="Give the machine a way to Maven (conf: spark.jars.repositories, spark.jars.ivySettings), or put the "
            "files beside it and name them in engine.jars.",
        )
    return ConnectError(
        f"Spark did not start: {error}",
        key="engine.master",
        fix=remedy(str(error)) or "Its log is above. Spark 4 needs Java 17 or later: see java -version.",
    )


def jvm_away() -> tuple[type[Exception], ...]:
    """Return the errors that calls to a JVM on this machine raise once it has ended; Spark Connect has no such JVM."""
    try:
        from py4j.protocol import Py4JNetworkError
    except ImportError:
        return (OSError,)
    return OSError, Py4JNetworkError


def action_errors() -> tuple[type[Exception], ...]:
    """Return the errors that an action raises when its tasks failed too often.

    PySpark has classes for errors of Python, but not for those of Java.
    """
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JJavaError
    except ImportError:
        return (PySparkException,)
    return PySparkException, Py4JJavaError


def jvm_ended(error: Exception) -> ConnectError:
    """Return the error for a Spark whose JVM has run and ended."""
    return ConnectError(
        f"Spark's JVM on this machine has ended: {error}",
        key="engine.conf",
        fix="Its log is above. On a full disk give it another folder (conf: spark.local.dir), without memory more "
        "(spark.driver.memory). What is committed stays, and the same command goes on.",
    )


def remedy(text: str) -> str | None:
    """Return advice for a failure of Spark with this text; None if the text is not known."""
    for pattern, fix in _REMEDIES:
        if re.search(pattern, text):
            return fix
    return None


def reason_in(text: str) -> str:
    """Return the gist of Spark's long text: the line of a Python error, or Java's first words and last cause."""
    stripped = (line.strip() for line in text.splitlines())
    lines = [line for line in stripped if line and not line.startswith(("at ", "... "))]
    named = [line for line in lines if "Error: " in line or "Error(" in line]
    if not named and (java := _JAVA_MESSAGE.search(text)):
        told = " ".join([*java["message"].split(), *_JAVA_CAUSE.findall(text)[-1:]])[:1000]
    else:
        told = (named or lines or ["no reason was given"])[-1][:500]
    return f"{told.rstrip('.')}."
