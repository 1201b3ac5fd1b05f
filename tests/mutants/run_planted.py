"""Plants each defect of planted.toml in a copy of the tree, and fails where no random history finds it: `make planted`.

The tests are those marked `histories` or `attacks`, and those of hypothesis: their silence counts only if they find
such defects. Histories draw seeds until one finds the defect or LIMIT_S is over, hypothesis what `make test` draws.
Names given as arguments choose the defects that contain one of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.histories import FOLDER
from tests.mutants.run_mutants import FAILED, PASSED, ROOT, Mutant, NoAnswerError, copied, listed, say

LIMIT_S = 600
MARKED = "histories or attacks or hypothesis"


@dataclass(frozen=True)
class Search:
    """What came of the search for a defect: the error that found it, or None, and how many histories passed."""

    error: str | None
    passed: int


def search(tree: Path, defect: Mutant) -> Search:
    """Run histories of a tree with the defect. The tree is mended in the end."""
    file = tree / defect.file
    text = file.read_text(encoding="utf-8")
    if text.count(defect.before) != 1:
        raise NoAnswerError(f"{defect.file} has {text.count(defect.before)} places like this one:\n{defect.before}")
    file.write_text(text.replace(defect.before, defect.after), encoding="utf-8")
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-s", "-m", MARKED, "-p", "no:schemathesis",
            "-p", "no:cacheprovider", f"--timeout={LIMIT_S + 600}", *defect.tests]  # fmt: skip
    environ = {**os.environ, "PYTHONPATH": str(tree), "CONNECT_HISTORY_S": str(LIMIT_S)}
    try:
        done = subprocess.run(argv, cwd=tree, env=environ, capture_output=True, text=True, check=False)
    finally:
        file.write_text(text, encoding="utf-8")
    for saved in (tree / FOLDER).glob("*.json"):
        (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
        shutil.copy(saved, ROOT / FOLDER / f"planted-{saved.name}")
    if done.returncode not in {PASSED, FAILED}:
        raise NoAnswerError(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}")
    errors = [line for line in done.stdout.splitlines() if line.startswith("E  ")]
    passed = done.stdout.count("as promised\n")
    return Search(errors[0][1:].strip() if done.returncode == FAILED else None, passed)


def main(names: Sequence[str]) -> int:
    """Plant all or some; return the exit code."""
    missed = 0
    for defect in listed("planted.toml"):
        if names and not any(name in defect.name for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = search(copied(Path(folder)), defect)
        missed += done.error is None
        # On a machine that is busy few histories pass in the time, and a defect that is not found says little.
        say(f"{'NOT FOUND' if done.error is None else 'found':<10} {defect.name}, behind {done.passed} histories")
        if done.error:
            say(f"           {done.error}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
