"""Writes how long tests and fixtures took, and how long processors worked for them: `pytest -p tests.costs --costs
FILE`.

The file has one JSON object per line, with the seconds that passed and the seconds of processors for this process and
all that it started. The difference is what a test waited for, also on a machine that others use. In a parallel run the
directing process owns the shared services: run with `-n 0` to see their costs.
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
"""These fields of /proc/<pid>/stat follow the command: the parent, and the times of the process and of its ended
children.
"""
_SET_CHILD_SUBREAPER = 36
"""With this option of prctl(2) orphans become children of this process, so that their times are not lost."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--costs`."""
    parser.addoption("--costs", type=Path, required=True, help="write what tests and fixtures cost into this file")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to write, in each process that runs tests."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    config.pluginmanager.register(_Writer(config.getoption("--costs").absolute()))


def cpu_s() -> float:
    """Return the seconds that this process and all its descendants have computed."""
    children: dict[int, list[int]] = defaultdict(list)
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # The process has ended just now, and its parent has its times.
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
        """Write what the process took in total; the total of the directing process includes all others."""
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
