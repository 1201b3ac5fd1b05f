"""Runs a suite on many plug-ins, with a class for each, in a few pytest processes at a time, as tests also wait."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

AT_ONCE = 2
LIMIT_S = 240
CHAOS_LIMIT_S = 1200
"""Each process of the tests marked `chaos` may take so long: it runs hundreds of tests, also on a busy machine."""
ROOT = Path(__file__).parents[2]
HEAD = """
from hypothesis import Phase, settings
settings.register_profile("kit", phases=[Phase.explicit, Phase.generate])  # that it fails is enough: no smaller example
settings.load_profile("kit")
"""


@dataclass(frozen=True)
class Case:
    """Holds the code of a class `Test<name>` of a suite. `only` are the tests to run; if it is empty, all are run.
    `without` are left out.
    """

    code: str
    only: Collection[str] = ()
    without: Collection[str] = ()


@dataclass
class Outcome:
    """Holds the names of passed and failed tests, without parameters, and what pytest prints about the failed ones."""

    passed: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    output: str = ""


def names_of(suite: type) -> set[str]:
    """Return the names of a suite's tests."""
    return {name for name in dir(suite) if name.startswith("test_")}


class Reports:
    """Collects the outcome of each test, by the name of its plug-in."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        _, class_name, test = report.nodeid.split("::", 2)
        outcome = self.outcomes.setdefault(class_name.removeprefix("Test"), Outcome())
        name = test.partition("[")[0]
        if report.failed:
            outcome.failed.add(name)
            sections = [text for title_and_text in report.sections for text in title_and_text]
            outcome.output += "\n".join([report.nodeid, report.longreprtext, *sections, ""])
        elif report.passed and report.when == "call":
            outcome.passed.add(name)


@dataclass(frozen=True)
class Runs:
    """Holds the processes, by the names of the plug-ins that they test."""

    processes: Mapping[str, Future[Mapping[str, Outcome]]]

    def outcome(self, name: str) -> Outcome:
        """Wait for the process of this plug-in to end, and return the outcome."""
        return self.processes[name].result()[name]


def start_runs(folder: Path, cases: Mapping[str, Case], limit_s: float = LIMIT_S) -> Runs:
    """Divide the cases among processes and start them."""
    names = list(cases)
    processes: dict[str, Future[Mapping[str, Outcome]]] = {}
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="kit")
    for number in range(AT_ONCE):
        share = {name: cases[name] for name in names[number::AT_ONCE]}
        processes |= dict.fromkeys(share, pool.submit(_run, folder / str(number), share, limit_s))
    pool.shutdown(wait=False)
    return Runs(processes)


def _run(folder: Path, cases: Mapping[str, Case], limit_s: float) -> Mapping[str, Outcome]:
    folder.mkdir()
    (folder / "test_it.py").write_text(HEAD + "\n".join(case.code for case in cases.values()))
    done = subprocess.run(
        [sys.executable, __file__, *_arguments(folder, cases)],
        cwd=folder, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])},
        capture_output=True, text=True, check=False, timeout=limit_s,
    )  # fmt: skip
    assert done.returncode in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}, done.stdout + done.stderr
    found = json.loads((folder / "outcomes.json").read_text())
    return {name: Outcome(set(o["passed"]), set(o["failed"]), o["output"]) for name, o in found.items()}


def _arguments(folder: Path, cases: Mapping[str, Case]) -> list[str]:
    """Return pytest's arguments for these cases."""
    nodes = []
    for name, case in cases.items():
        nodes += [f"test_it.py::Test{name}::{test}" for test in sorted(case.only)] or [f"test_it.py::Test{name}"]
    left_out = [f"--deselect=test_it.py::Test{name}::{test}" for name, c in cases.items() for test in c.without]
    places = [f"--rootdir={folder}", f"--basetemp={folder / 'tmp'}"]
    # The asserts of the suites have their own messages, so no time is spent on rewriting them.
    unneeded = ["-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:xdist"]
    return ["-q", "--tb=short", "--assert=plain", *unneeded, *places, *left_out, *nodes]


def main() -> int:
    """Run pytest as the arguments say, and write the outcomes into the working folder."""
    reports = Reports()
    code = pytest.main(sys.argv[1:], plugins=[reports])
    outcomes = {
        name: {"passed": sorted(o.passed), "failed": sorted(o.failed), "output": o.output}
        for name, o in reports.outcomes.items()
    }
    Path("outcomes.json").write_text(json.dumps(outcomes))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
