"""Runs the demo as a newcomer does, and with the worker killed at other moments."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import psutil
import pytest

LIMIT_S = 900
"""The demo has limits of its own for each step, and says which one was not kept. This one ends a demo that hangs."""
pytestmark = pytest.mark.timeout(LIMIT_S + 60)


def children_of(pid: int) -> set[int]:
    return {p.pid for p in psutil.Process(pid).children(recursive=True)}


def assert_ended_equal(done: subprocess.CompletedProcess[str], before: set[int]) -> None:
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "0 rows lost, 0 duplicates" in done.stdout
    assert re.search(r" [1-9]\d* kills? of the worker", " ".join(done.stdout.split()))
    assert re.search(r"^Pages +http://\S+/ui$", done.stdout, re.MULTILINE)
    assert children_of(psutil.Process().pid) <= before


@pytest.mark.chaos  # the next one runs the same demo with more targets
@pytest.mark.parametrize("options", [("--seed", "11", "--rows", "12000"), ()])
def test_the_demo_ends_equal_whenever_the_worker_is_killed(options):
    argv = [sys.executable, "-m", "connect.cli", "demo", "--exit", *options]
    before = children_of(psutil.Process().pid)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert_ended_equal(done, before)


def test_the_flights_go_into_bigquery_and_cassandra_as_well():
    before = children_of(psutil.Process().pid)
    argv = [sys.executable, "-m", "connect.cli", "demo", "--exit", "--seed", "11", "--rows", "3000"]
    done = subprocess.run(
        [*argv, "--with", "bigquery,cassandra"],
        capture_output=True, text=True, timeout=LIMIT_S, check=False, env={**os.environ, "COLUMNS": "160"},
    )  # fmt: skip
    assert_ended_equal(done, before)
    verdicts = {
        cells[0]: cells[1:6] + cells[7:]
        for line in done.stdout.splitlines()
        if len(cells := [cell.strip() for cell in line.strip("│").split("│")]) == 8
    }
    s3 = verdicts["flights"]
    assert s3[:4] == ["3,000", "3,000", "0", "0"]
    assert s3[-1] == "yes"
    assert "BigQuery 3,000 of 3,000 flights: reading them" in done.stdout
    assert verdicts["flights in BigQuery"] == verdicts["flights in Cassandra"] == s3


def test_a_database_that_the_demo_does_not_know_is_named():
    argv = [sys.executable, "-m", "connect.cli", "demo", "--exit", "--with", "bigquery,casandra"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "'casandra'" in done.stderr
    assert "Is cassandra meant?" in done.stderr
    assert "starting" not in done.stdout


@pytest.mark.parametrize(("name", "module"), [("bigquery", "google.cloud.bigquery"), ("cassandra", "cassandra")])
def test_a_database_without_its_client_names_the_extra_before_anything_starts(name, module):
    code = f"import sys; sys.modules[{module!r}] = None; from connect.cli import main; main(sys.argv[1:])"
    argv = [sys.executable, "-c", code, "demo", "--exit", "--with", name]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"pip install 'connect-for-kafka[demo,{name}]'" in done.stderr
    assert "starting" not in done.stdout
