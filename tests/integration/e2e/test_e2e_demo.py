"""The demo as a newcomer runs it, and with the worker killed at other moments."""

from __future__ import annotations

import re
import subprocess
import sys

import psutil
import pytest


def children_of(pid: int) -> set[int]:
    return {p.pid for p in psutil.Process(pid).children(recursive=True)}


@pytest.mark.parametrize("options", [("--seed", "11", "--rows", "12000"), pytest.param((), marks=pytest.mark.chaos)])
def test_the_demo_ends_equal_whenever_the_worker_is_killed(options, tmp_path):
    argv = [sys.executable, "-m", "connect.cli", "demo", "--exit", *options]
    before = children_of(psutil.Process().pid)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "0 rows lost, 0 duplicates" in done.stdout
    assert "kill -9" in done.stdout
    assert re.search(r"^Pages +http://\S+/ui$", done.stdout, re.MULTILINE)
    assert children_of(psutil.Process().pid) <= before
