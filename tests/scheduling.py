"""Decides which tests of a parallel run share a process, and lets the files that take longest begin first.

`conftest.py` imports the hooks.
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
"""Names shared things, and the files that share each; the first entry that matches a file counts.

Two of `connect dev` that start at the same moment may choose one port. A Cassandra node takes 15 s of a core to start,
a JVM of Spark 10 s, and parsing all modules of the product 3 s.
"""

_FILE = Path(__file__).with_name("seconds.json")
_SECONDS: dict[str, int] = json.loads(_FILE.read_text()) if _FILE.exists() else {}
"""Maps each file or group to the seconds that one process took for it, as `pytest --note-seconds` measured."""
_AHEAD = 1
"""A process holds this many tests beyond the one that it runs, as it begins a test only when it knows the next."""
_UNKNOWN_S = 20
"""Files that were never measured count as this many seconds: they begin early, as all other cores wait for the last
file.
"""


class ByService(LoadScopeScheduling):
    """Gives whole files, or all files of a service, to any process that is free."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope(nodeid)

    def _reschedule(self, node: WorkerController) -> None:
        """Give units to a process until it has tests to run.

        After a crash a unit may come back with no test left, or with one test, for which a process waits until it knows
        the next. If only one unit were given at a time, the whole run would wait for ever.
        """
        while self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) <= _AHEAD:
            self._assign_work_unit(node)
        if not self.workqueue:
            super()._reschedule(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByService:
    """Return our scheduler in place of the one that `--dist` names."""
    return ByService(config, log)


def longest_first(items: list[pytest.Item]) -> None:
    """Sort tests by the time of their files; tests of a file keep their order."""
    items.sort(key=lambda item: -_SECONDS.get(_scope(item.nodeid), _UNKNOWN_S))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which the times of all or some files are measured again."""
    parser.addoption("--note-seconds", action="store_true", help=f"write into {_FILE.name} how long the files took")


class NoteSeconds:
    """Adds up how long tests take, including their setup and teardown."""

    def __init__(self) -> None:
        self._took = Counter[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._took[_scope(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        seconds = _SECONDS | {scope: round(took) for scope, took in self._took.items()}
        _FILE.write_text(json.dumps({scope: seconds[scope] for scope in sorted(seconds)}, indent=1) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Register the measurement in the directing process, which hears of every test."""
    if config.getoption("--note-seconds") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(NoteSeconds())


def _scope(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    return next((scope for scope, files in _TOGETHER.items() if files.match(file)), file)
