"""Runs a test again and again while all cores are busy, and fails if one of the runs did: `make flaky TEST=...`.

Every run is a process of its own. The output of those that failed is printed, with the command to run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_BUSY = "import os\nowner = os.getppid()\nwhile os.getppid() == owner: pass"
"""Counts until whoever started it is gone, however it ended."""
_PASSED = 0


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep so many cores busy."""
    busy = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def run_again(tests: Sequence[str], runs: int) -> int:
    """Run the tests so often; return how many runs failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", *tests]
    failed = 0
    for number in range(1, runs + 1):
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        is_good = done.returncode == _PASSED
        failed += not is_good
        last = done.stdout.rstrip().rpartition("\n")[2]
        print(f"run {number} of {runs}: {'passed' if is_good else 'FAILED'} ({last})", flush=True)  # noqa: T201
        if not is_good:
            print(done.stdout, flush=True)  # noqa: T201
    return failed


def main() -> int:
    """Return the exit code: 0 when no run failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.flaky.run_again")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--load", type=int, default=os.cpu_count(), help="processes that do nothing but count")
    parser.add_argument("tests", nargs="+")
    given = parser.parse_args()
    with load(given.load):
        failed = run_again(given.tests, given.runs)
    print(f"{failed} of {given.runs} runs failed under load.")  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
