"""Makes skips of tests fail if CONNECT_NO_SKIPS=1, unless they are allowed. `conftest.py` imports the hooks.

A test that is skipped because a service is missing looks like one that passed. The few that may be skipped everywhere
are in allowed_skips.toml, each with its reason.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Generator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import pytest

ASKED: Final = "CONNECT_NO_SKIPS"
_LIST: Final = Path(__file__).with_name("allowed_skips.toml")
ReportT = TypeVar("ReportT", pytest.TestReport, pytest.CollectReport)


class Allowed(NamedTuple):
    """Holds patterns of the node ids and messages of skips that are allowed, and why nothing is lost by them."""

    test: str
    said: str
    reason: str


def allowed() -> list[Allowed]:
    """Return the allowed skips from the list."""
    return [Allowed(**one) for one in tomllib.loads(_LIST.read_text(encoding="utf-8"))["skip"]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a test's skip into a failure, unless it is allowed."""
    return _judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn the skip of a whole file into a failure, unless it is allowed."""
    return _judged((yield))


def _judged(report: ReportT) -> ReportT:
    if os.environ.get(ASKED) != "1" or not report.skipped or hasattr(report, "wasxfail"):
        return report
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    if not any(fnmatchcase(report.nodeid, one.test) and fnmatchcase(said, one.said) for one in allowed()):
        report.outcome = "failed"
        report.longrepr = f"{said}\n{ASKED}=1: a test may be skipped only where tests/{_LIST.name} says why."
    return report
