"""`pytest -p tests.costs --costs FILE`: write what tests and fixtures took, and what of it they computed.

One JSON object per line: the seconds that passed, and the seconds that processors gave to this process and to all that
it started. What a test waits for is the difference, also on a machine that others load. The shared services of a
parallel run are the directing process's: run with `-n 0` to see theirs.
"""

from __future__ import annotations

import ctypes
import json
import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PARENT, _TIMES = 1, slice(11, 15)
"""Fields of /proc/<pid>/stat behind the command: the parent; the times of a process and of its children that ended."""
_SET_CHILD_SUBREAPER = 36
"""See prctl(2): orphans become children of this process, and their times are not lost."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--costs`."""
    parser.addoption("--costs", type=Path, required=True, help="write what tests and fixtures cost into this file")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to write, in each process that runs tests."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    config.pluginmanager.register(_Writer(config.getoption("--costs").absolute()))


def cpu_s() -> float:
    """Return the seconds that this process and all its descendants computed."""
    children: dict[int, list[int]] = defaultdict(list)
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # It ended just now, and its parent has its times.
        pid = int(stat.parent.name)
        children[int(fields[_PARENT])].append(pid)
        ticks[pid] = sum(map(int, fields[_TIMES]))
    found, total = [os.getpid()], 0
    while found:
        pid = found.pop()
        total += ticks.get(pid, 0)
        found += children[pid]
    return total / _TICKS_PER_S


class _Writer:
    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file
        self._began_s = time.monotonic()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write what the process took in all: that of the directing one has all others in it."""
        process = getattr(session.config, "workerinput", {}).get("workerid", "run")
        self._write("", f"process {process}", self._began_s, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        with self._noted(item.nodeid, "setup"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        with self._noted(item.nodeid, "call"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        with self._noted(item.nodeid, "teardown"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        with self._noted(request.node.nodeid, f"fixture {fixturedef.argname} ({fixturedef.scope})"):
            return (yield)

    @contextmanager
    def _noted(self, test: str, phase: str) -> Iterator[None]:
        began_s, computed_s = time.monotonic(), cpu_s()
        try:
            yield
        finally:
            self._write(test, phase, began_s, computed_s)

    def _write(self, test: str, phase: str, began_s: float, computed_s: float) -> None:
        line = {
            "test": test, "phase": phase,
            "wall_s": round(time.monotonic() - began_s, 3), "cpu_s": round(cpu_s() - computed_s, 2),
        }  # fmt: skip
        with self._file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
