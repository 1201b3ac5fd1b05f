"""Makes an archive of the classes that Spark loads: with it starting a JVM of Spark takes 8 s of a core, without it 13
s.

It is recorded once for each installation of Spark, by `spark-submit` of this file, which does what most tests do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import pyspark

from connect.tools.services.class_archive import archived_classes
from connect.tools.services.java import find_java
from connect.tools.services.process.errors import ServiceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPTIONS = "SPARK_SUBMIT_OPTS"
"""Spark's own script takes options of the driver's JVM from this variable."""
_SPARK = Path(pyspark.__file__).parent
_WARNINGS_ON_STANDARD_ERROR = ("-Xlog:disable", "-Xlog:all=warning:stderr")
"""With these options a JVM warns on standard error of an archive that it cannot use, not among the program's lines."""
_RECORD_S = 600
"""This many seconds are for the work and for writing 180 MB; a quiet machine needs half a minute."""


def environment() -> dict[str, str]:
    """Return the variables with which each driver uses the archive. If there is none, it is recorded now."""
    given = os.environ.get(_OPTIONS, "")
    # A JVM only accepts an archive if its jars are in the folder in which they were when it was recorded.
    program = f"spark-{pyspark.__version__}-{crc32(os.fsencode(_SPARK)):08x}"
    options = archived_classes(program, find_java(), given.split(), _recorder)
    return {_OPTIONS: " ".join([given, *options, *_WARNINGS_ON_STANDARD_ERROR]).strip()}


class _Driver:
    def __init__(self, submitted: subprocess.Popen[bytes]) -> None:
        self._submitted = submitted

    def stop(self, grace_s: float | None = None) -> None:
        """Wait longer than `grace_s` for the driver, which ends by itself."""
        del grace_s
        code = self._submitted.wait(_RECORD_S)
        if code:
            raise ServiceError(f"The program of Spark ended with {code}.", fix="Run spark-submit with it, and see why.")


@contextmanager
def _recorder(option: str) -> Iterator[_Driver]:
    argv = [str(_SPARK / "bin" / "spark-submit"), "--master", "local[2]", __file__]
    environ = {**os.environ, _OPTIONS: option, "SPARK_HOME": str(_SPARK), "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(argv, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as submitted:
        try:
            yield _Driver(submitted)
        finally:
            submitted.kill()


def _usual_work(session: SparkSession, folder: str) -> None:
    rows: Sequence[tuple[int, str]] = [(number, str(number)) for number in range(100)]
    frame = session.createDataFrame(rows, "number int, text string").repartition(2)
    frame.mapInArrow(lambda batches: batches, frame.schema).write.mode("overwrite").parquet(folder)
    session.read.parquet(folder).groupBy("number").count().collect()


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        _usual_work(SparkSession.builder.getOrCreate(), folder)
