"""Runs a suite on many plug-ins, each in a pytest of its own, a few at a time: most of a run is waiting."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

AT_ONCE = 3
FAILED = re.compile(r"^(?:FAILED|ERROR) [^:]+::\w+::(\w+)", re.MULTILINE)
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """The names of the tests that failed, without parameters, and all that pytest printed."""

    failed: frozenset[str]
    output: str


def _run(folder: Path, test_file: str) -> Outcome:
    folder.mkdir()
    (folder / "test_it.py").write_text(test_file)
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=short", "-p", "no:cacheprovider", f"--rootdir={folder}",
         f"--basetemp={folder / 'tmp'}", "test_it.py"],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return Outcome(frozenset(FAILED.findall(done.stdout)), done.stdout)


def start_runs(folder: Path, test_files: Mapping[str, str]) -> Mapping[str, Future[Outcome]]:
    """Start a run per name; each future gives its outcome."""
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="kit")
    runs = {name: pool.submit(_run, folder / name, text) for name, text in test_files.items()}
    pool.shutdown(wait=False)
    return runs
