"""Gives lanes to Spark as its tasks. Spark schedules them and runs them again; rows never enter its JVM."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from connect.api.errors import ConnectError
from connect.backfill.engines.spark_errors import (
    action_errors,
    jvm_away,
    jvm_ended,
    not_started,
    reason_in,
    refused,
    remedy,
    require_archive,
    require_hadoop_conf,
    require_java,
    require_pyspark,
)
from connect.backfill.job.chunk import LaneReport
from connect.backfill.job.kinds import JobConnectors
from connect.backfill.job.spec import Engine as EngineSpec
from connect.backfill.lane.lane import LaneTask, RunLane, run_lane
from connect.lib import python_child

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")
_SETTINGS: Final[Mapping[str, str]] = {
    # A second attempt beside a slow one would fence it: right, and wasteful.
    "spark.speculation": "false",
    "spark.task.maxFailures": "8",
    "spark.dynamicAllocation.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # No Python of an executor runs a module that lies in the folder it works in.
    "spark.executorEnv.PYTHONSAFEPATH": "1",
}
_CONNECT_PORT: Final = 15002
_ANSWERS_S: Final = 10.0
_PACKED: Final = "./env/bin/python"
_ON_ONE_MACHINE: Final = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
# Its client would ask a ResourceManager that is away for 15 minutes, in silence.
_ON_YARN: Final = {"spark.hadoop.yarn.resourcemanager.connect.max-wait.ms": "120000"}
_JVM_OVERHEAD_MIB: Final = 384
_LANE_MIB: Final = 400


class SparkEngine:
    """Gives the lanes of one job to a Spark application, each as one of its tasks. Owned by the driver's thread."""

    def __init__(self, spec: EngineSpec, job: str, run: RunLane = run_lane) -> None:
        """Check what Spark needs, without starting it. ConnectError: something is missing, such as Java.

        `run` is the function that a task calls for its lane.
        """
        self._spec = spec
        self._job = job
        self._run = run
        self._session: SparkSession | None = None
        require_archive(spec.python_env)
        require_pyspark()
        if spec.remote is None:
            require_java()
            if spec.master == "yarn":
                require_hadoop_conf()

    def prepare(self, connectors: JobConnectors, lanes: int) -> None:
        """Do nothing, as mistakes in a job would be told seconds later, after the start of a JVM."""

    def run(self, tasks: Sequence[LaneTask], at_once: int) -> list[LaneReport]:
        """Run the lanes in at most `at_once` tasks. ConnectError: Spark did not start, or a lane failed too often."""
        self._session = self._session or self.session()
        return collected(self._session, self._run, tasks, at_once)

    def close(self) -> None:
        """End the application. May be called twice."""
        session, self._session = self._session, None
        if session is not None:
            with suppress(*jvm_away()):  # what it failed with is on its way
                session.stop()

    def session(self) -> SparkSession:
        """Return the application's session; start it if there is none. ConnectError: Spark did not start."""
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession

        if self._spec.remote is not None:
            return remote_session(self._spec, self._spec.remote)
        from py4j.protocol import Py4JJavaError

        settings = spark_settings(self._spec)
        os.environ.update({**python_variables(settings, os.environ), "PYTHONSAFEPATH": "1"})
        builder = SparkSession.builder.master(self._spec.master).appName(f"backfill {self._job}")
        for key, value in settings.items():
            builder = builder.config(key, value)
        try:
            session = builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise not_started(self._spec, error) from error
        except Py4JJavaError as error:
            raise refused(error) from error
        except jvm_away() as error:
            raise jvm_ended(error) from error
        session.sparkContext.setLogLevel("ERROR")
        return session


def remote_session(spec: EngineSpec, remote: str) -> SparkSession:
    """Return a session of a Spark Connect server. ConnectError: it does not answer, or its client is not installed."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    place = urlsplit(remote)
    try:
        # Spark's client would try for minutes, in silence.
        socket.create_connection((place.hostname or "", place.port or _CONNECT_PORT), _ANSWERS_S).close()
        builder = SparkSession.builder.remote(remote)
        for key, value in spec.conf.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        if spec.python_env:
            session.addArtifacts(f"{spec.python_env}#env", archive=True)
            session.conf.set("spark.sql.execution.pyspark.python", _PACKED)
    except OSError as error:
        raise ConnectError(
            f"The Spark Connect server {place.netloc} does not answer: {error}.",
            key="engine.remote",
            fix="Start it by sbin/start-connect-server.sh of its Spark, and check host and port.",
        ) from error
    except PySparkException as error:
        raise ConnectError(
            f"The Spark Connect server {place.netloc} cannot be used: {error}",
            key="engine.remote",
            fix="pip install 'connect-for-kafka[spark-connect]', of the server's version of Spark.",
        ) from error
    return session


def spark_settings(spec: EngineSpec) -> dict[str, str]:
    """Return the settings of Spark: our own, those for the spec's packages and jars, and on top the spec's `conf`."""
    settings = dict(_SETTINGS)
    if spec.master.startswith("local"):
        settings |= _ON_ONE_MACHINE
    if spec.master == "yarn":
        settings |= _ON_YARN
    if spec.master == "yarn" or spec.master.startswith("k8s:"):
        settings["spark.executor.minMemoryOverhead"] = f"{_overhead_mib(spec.conf)}m"
    if spec.packages:
        settings["spark.jars.packages"] = ",".join(spec.packages)
    if spec.jars:
        settings["spark.jars"] = ",".join(spec.jars)
    if spec.python_env:
        settings |= {"spark.archives": f"{spec.python_env}#env", "spark.pyspark.python": _PACKED}
    return {**settings, **spec.conf}


def _overhead_mib(conf: Mapping[str, str]) -> int:
    """Return the MiB that a container needs beside its JVM's heap: an overhead, and a lane's process per core."""
    cores = conf.get("spark.executor.cores", "")
    return _JVM_OVERHEAD_MIB + _LANE_MIB * (int(cores) if cores.isdigit() else 1)


def python_variables(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables by which PySpark finds its Pythons; PySpark prefers them to its settings.

    A Python that the settings name comes first, whatever the user's shell says. Without any variable, Spark would take
    the first python3 on the path, which has neither our packages nor our drivers.
    """
    named = settings.get("spark.pyspark.python")
    return {
        "PYSPARK_PYTHON": named or environment.get("PYSPARK_PYTHON", python_child.PYTHON),
        "PYSPARK_DRIVER_PYTHON": environment.get("PYSPARK_DRIVER_PYTHON", python_child.PYTHON),
    }


def collected(session: SparkSession, run: Callable[[T], R], tasks: Sequence[T], at_once: int | None = None) -> list[R]:
    """Return the results of `run` for all tasks, in any order; `run` and the tasks must be picklable.

    At most `at_once` tasks run at a time; None: as many as Spark has cores for. ConnectError: a task failed too often.
    """
    # The frame has one row per task of ours. A Spark task runs its rows one after the other: a row that waited for
    # another one would hold a core, and wait for ever if the other has no core to run on again.
    frame = session.range(0, len(tasks), 1, min(len(tasks), at_once or len(tasks)))
    try:
        rows = frame.mapInArrow(_runs(pickle.dumps((run, list(tasks)))), "answer binary").collect()
    except jvm_away() as error:
        raise jvm_ended(error) from error
    except action_errors() as error:
        raise ConnectError(
            f"A task failed too often, or Spark ended: {reason_in(str(error))}", fix=remedy(str(error))
        ) from error
    return [pickle.loads(row.answer) for row in rows]  # noqa: S301 - written by our own tasks


def _runs(work: bytes) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that a Spark task applies to the numbers of our tasks."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        run_here, tasks = pickle.loads(work)  # noqa: S301 - written by our own driver
        for batch in batches:
            for number in batch.column(0).to_pylist():
                answer = pickle.dumps(run_here(tasks[number]))
                yield pa.record_batch([pa.array([answer], pa.binary())], names=["answer"])

    return run
