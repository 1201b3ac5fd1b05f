"""Runs tests, and once more, alone, those that failed: one that passes then is flaky, and is shown with both outputs.

Arguments are pytest's. The exit code is that of the
second run where there was one: a flaky test does not stop a change that has nothing to do with it, but it is never
silent. Known ones are in known.toml, with the cause.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.flaky.outputs import Outcome, read

_FOLDER = Path("build/outputs")
_KNOWN = Path(__file__).with_name("known.toml")
_FAILED = 1
_MOST = 30
"""More failures than these are no races, also on a machine that is slow today: they are not run again."""


def known() -> Mapping[str, str]:
    """Flaky test -> its cause."""
    return {one["test"]: one["cause"] for one in tomllib.loads(_KNOWN.read_text(encoding="utf-8")).get("flaky", [])}


def run(arguments: Sequence[str], outputs: Path) -> int:
    """Run pytest; return its exit code."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.flaky.outputs", f"--outputs={outputs}", *arguments]
    return subprocess.run(command, check=False).returncode


def shown(test: str, failed: Outcome, passed: Outcome) -> str:
    """Say that a test is flaky, with both outputs."""
    line = "=" * 30
    return "\n".join(
        [
            f"{line} FLAKY: {test}",
            f"cause: {known().get(test, 'NOT KNOWN. Find it: make flaky TEST=' + repr(test))}",
            f"{line} the run that failed",
            failed.output,
            f"{line} the run that passed",
            passed.output,
        ]
    )


def main(arguments: Sequence[str]) -> int:
    """Run all, then what failed; return the exit code."""
    first, second = _FOLDER / "first.jsonl", _FOLDER / "second.jsonl"
    code = run(arguments, first)
    before = read(first)
    failed = [test for test, outcome in before.items() if not outcome.is_good]
    if code != _FAILED or not failed or len(failed) > _MOST:
        return code
    print(f"Once more, alone: {len(failed)} that failed.", flush=True)  # noqa: T201
    code = run(["-q", "-p", "no:schemathesis", *failed], second)
    after = read(second)
    for test in failed:
        if test in after and after[test].is_good:
            print(shown(test, before[test], after[test]), flush=True)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
