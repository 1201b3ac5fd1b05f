"""Which tests of a parallel run share a process, and in which order their files begin: those that take longest first.

`conftest.py` takes the hooks from here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

_TOGETHER = {
    "cassandra, log": re.compile(r".*/integration/cassandra/test_cassandra_(agent|handover|restore)"),
    "cassandra, tables": re.compile(r".*/integration/cassandra/test_cassandra_(?!access|dedup)"),
    "spark": re.compile(r".*/test_(backfill_spark|spark_data_source|spark_kafka_sink)"),
    "connect dev": re.compile(r".*/test_(cli_dev|docs_guides|bigquery_readme)"),
    "syntax trees": re.compile(r".*tests/shape/test_shape_(children|files|house)"),
}
"""Names what is shared, and the files that share it; the first that fits counts.

Two of `connect dev` that start at once may choose one port. A node takes 15 s of a core to start, a JVM of Spark 10,
all modules of the product 3 s to parse.
"""

_FILE = Path(__file__).with_name("seconds.json")
_SECONDS: dict[str, int] = json.loads(_FILE.read_text()) if _FILE.exists() else {}
"""What is run by one process -> how long that took, as `pytest --note-seconds` found."""
_AHEAD = 1
"""Tests that a process holds beyond the one it runs; it begins one when it knows the next."""
_UNKNOWN_S = 20
"""Of a file that was never measured: begun early, as what is begun last is waited for with idle cores."""


class ByService(LoadScopeScheduling):
    """Hands whole files, or the files of a service, to whichever process is free."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope(nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        """Hand out until the process has tests to run.

        After a crash, units come back of which nothing is left to run, or one test, with which a process waits for the
        next: with one unit handed out at a time the whole run would wait for ever.
        """
        while self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) <= _AHEAD:
            self._assign_work_unit(node)
        if not self.workqueue:
            super()._reschedule(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByService:
    """Instead of what `--dist` names."""
    return ByService(config, log)


def longest_first(items: list[pytest.Item]) -> None:
    """Sort; tests of a file keep their order."""
    items.sort(key=lambda item: -_SECONDS.get(_scope(item.nodeid), _UNKNOWN_S))


def pytest_addoption(parser: pytest.Parser) -> None:
    """How the times are measured anew, of all files or of some."""
    parser.addoption("--note-seconds", action="store_true", help=f"write into {_FILE.name} how long the files took")


class NoteSeconds:
    """Adds up how long tests take, with what they set up and tear down."""

    def __init__(self) -> None:
        self._took = Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._took[_scope(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        seconds = _SECONDS | {scope: round(took) for scope, took in self._took.items()}
        _FILE.write_text(json.dumps({scope: seconds[scope] for scope in sorted(seconds)}, indent=1) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """In the directing process, which hears of every test."""
    if config.getoption("--note-seconds") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NoteSeconds())


def _scope(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    return next((scope for scope, files in _TOGETHER.items() if files.match(file)), file)
