"""Runs a real standalone Spark cluster on loopback, from PySpark's own files: one master and two workers of one core
each.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from connect.tools.services.process.polling import poll_until
from connect.tools.services.process.ports import accepts_connections, free_ports
from connect.tools.services.process.process import Command, SupervisedProcess

SPARK = Path(pyspark.__file__).parent
_START_S = 60.0


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """Yield the address of the master once both workers have joined it; all are stopped in the end."""
    port, master_ui, *worker_uis = free_ports(4)
    with ExitStack() as stack:
        log = folder / "master.log"
        arguments = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(master_ui)]
        _start(stack, "org.apache.spark.deploy.master.Master", arguments, folder, log)
        poll_until(
            lambda: accepts_connections(port), deadline_s=_START_S, waiting_for="Spark's master", fix=f"See {log}"
        )
        for number, ui in enumerate(worker_uis):
            work = folder / f"work-{number}"
            arguments = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", str(ui)]
            arguments += ["--work-dir", str(work), f"spark://127.0.0.1:{port}"]
            _start(stack, "org.apache.spark.deploy.worker.Worker", arguments, folder, folder / f"worker-{number}.log")
        poll_until(
            lambda: len(re.findall("Registering worker", log.read_text())) == 2,
            deadline_s=_START_S, waiting_for="Spark's workers", fix=f"See {log}",
        )  # fmt: skip
        yield f"spark://127.0.0.1:{port}"


def _start(stack: ExitStack, name: str, arguments: list[str], folder: Path, log: Path) -> None:
    environ = {
        "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable, "PATH": os.environ["PATH"],
    }  # fmt: skip
    argv = [str(SPARK / "bin" / "spark-class"), name, *arguments]
    process = SupervisedProcess(Command(argv, folder, log, environ))
    stack.callback(process.stop, 5.0)
