"""`make planted`: plant each defect of planted.toml in a copy of the tree; fail where no random history finds it.

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
from pathlib import Path

from tests.histories import FOLDER
from tests.mutants.run_mutants import FAILED, PASSED, ROOT, Mutant, NoAnswerError, copied, listed, say

LIMIT_S = 600
MARKED = "histories or attacks or hypothesis"


def found_by(tree: Path, defect: Mutant) -> str | None:
    """Return the error of the history that found the defect; None when none did. The tree is mended in the end."""
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
    return errors[0][1:].strip() if done.returncode == FAILED else None


def main(names: Sequence[str]) -> int:
    """Plant all or some; return the exit code."""
    missed = 0
    for defect in listed("planted.toml"):
        if names and not any(name in defect.name for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            error = found_by(copied(Path(folder)), defect)
        missed += error is None
        say(
            f"{'NOT FOUND' if error is None else 'found':<10} {defect.name}"
            + (f"\n           {error}" if error else "")
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
