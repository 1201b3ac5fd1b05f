"""Writes how each test ended and what it printed: `pytest -p tests.flaky.outputs --outputs FILE`.

One JSON object per phase and line. The directing process of a parallel run writes for all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Outcome:
    """How a test ended, and all that it said."""

    is_good: bool = True
    output: str = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--outputs`."""
    parser.addoption("--outputs", type=Path, required=True, help="write what the tests print into this file")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to write, in the directing process alone."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(config.getoption("--outputs")))


class _Writer:
    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report)

    def _write(self, report: Any) -> None:
        said = "\n".join(f"--- {name} ---\n{text.rstrip()}" for name, text in report.sections)
        line = {
            "test": report.nodeid, "phase": getattr(report, "when", "collection"), "outcome": report.outcome,
            "output": "\n".join(part for part in (said, report.longreprtext) if part),
        }  # fmt: skip
        with self._file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")


def read(file: Path) -> Mapping[str, Outcome]:
    """Read a file of outputs: test -> its outcome."""
    found: dict[str, Outcome] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        outcome = found.setdefault(told["test"], Outcome())
        outcome.is_good = outcome.is_good and told["outcome"] != "failed"
        if told["output"]:
            outcome.output += f"[{told['phase']}] {told['output']}\n"
    return found
