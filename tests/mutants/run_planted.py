"""Plants each defect of planted.toml in a copy of the tree, and fails where no random history finds it: `make planted`.

The tests are those marked `histories` or `attacks`, and those of hypothesis: their silence counts only if they find
such defects. Histories draw seeds until one finds the defect or LIMIT_S is over, hypothesis what `make test` draws.
A defect that names a theme is looked for by histories of this theme, of which others draw a share. The test that fails
is run again without the defect: if it fails then, too, and no later, the machine may be too busy, and nothing is found.
Histories of both runs are kept in build/histories, as `planted-` and `clean-`. A run in
which a service of the tests does not start says nothing of the product: it is done again, STARTS times at most.
Names given as arguments choose the defects that contain one of them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.histories import FOLDER, SECONDS, SEED, STANDSTILL, THEME
from tests.mutants.run_mutants import FAILED, PASSED, ROOT, Mutant, NoAnswerError, copied, listed, say

LIMIT_S = 600
STANDSTILL_S = 75
"""A history that stands still by a defect has to be found within LIMIT_S. A busy machine ends in UNSURE."""
STARTS = 3
MARKED = "histories or attacks or hypothesis"

FOUND, NOT_FOUND, UNSURE = "found", "NOT FOUND", "UNSURE"
"""These words tell what came of a search. UNSURE: what failed with the defect fails without it, too."""
_NOT_STARTED = re.compile(r"^E +\S*(?:ServiceStart|ServiceTimeout|PortTaken)Error: ", re.MULTILINE)
_SEED = re.compile(rf"^E +again: {SEED}=(\d+) ", re.MULTILINE)
_TEST = re.compile(r"^(?:FAILED|ERROR) (\S+\.py::[\w:]+(?:\[\S*\])?)(?: - .*)?$", re.MULTILINE)
"""pytest's summary names the test that failed so. One whose id holds spaces is not told from the error behind it."""


@dataclass(frozen=True)
class Search:
    """What came of the search for a defect: one of the words above, how many histories passed, and the error."""

    outcome: str
    passed: int
    error: str = ""


def search(tree: Path, defect: Mutant) -> Search:
    """Run histories of a tree with the defect. The tree is mended in the end. NoAnswerError: its tests cannot run."""
    file = tree / defect.file
    text = file.read_text(encoding="utf-8")
    if text.count(defect.before) != 1:
        raise NoAnswerError(f"{defect.file} has {text.count(defect.before)} places like this one:\n{defect.before}")
    file.write_text(text.replace(defect.before, defect.after), encoding="utf-8")
    settings = {STANDSTILL: str(STANDSTILL_S), **({THEME: defect.theme} if defect.theme else {})}
    try:
        failed, said = _fails(tree, defect.tests, {**settings, SECONDS: str(LIMIT_S)})
    finally:
        file.write_text(text, encoding="utf-8")
    planted = _kept(tree, "planted")
    passed = said.count("as promised\n")
    if not failed:
        return Search(NOT_FOUND, passed)
    error, seed, test = _error(said), _SEED.search(said), _TEST.search(said)
    tests = [test[1]] if test else defect.tests
    fails_without, said = _fails(tree, tests, {**settings, SEED: seed[1]} if seed else settings)
    if fails_without and not _fails_later(planted, _kept(tree, "clean")):
        return Search(UNSURE, passed, f"{error}; without the defect: {_error(said)}")
    return Search(FOUND, passed, error)


def _kept(tree: Path, run: str) -> Mapping[str, int]:
    """Move the failed histories of a run out of the tree; return the number of steps of each, by its file's name."""
    (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
    steps = {}
    for saved in (tree / FOLDER).glob("*.json"):
        steps[saved.name] = len(json.loads(saved.read_text(encoding="utf-8"))["steps"])
        shutil.move(saved, ROOT / FOLDER / f"{run}-{saved.name}")
    return steps


def _fails_later(planted: Mapping[str, int], clean: Mapping[str, int]) -> bool:
    """Return True if each history that fails without the defect got further than it did with the defect."""
    return bool(clean) and all(name in planted and steps > planted[name] for name, steps in clean.items())


def _error(said: str) -> str:
    """Return the first line of what a test that failed raised."""
    return next((line for line in said.splitlines() if line.startswith("E  ")), "E")[1:].strip()


def _fails(tree: Path, tests: Sequence[str], settings: Mapping[str, str]) -> tuple[bool, str]:
    """Run tests of the tree, up to the first that fails. Return if one failed, and what they said.

    NoAnswerError: they cannot run, or their services do not start, however often.
    """
    for _ in range(STARTS):
        failed, said = _fails_once(tree, tests, settings)
        if not failed or _NOT_STARTED.search(said) is None:
            return failed, said
    raise NoAnswerError(f"in none of {STARTS} runs all services of the tests start: {_error(said)}")


def _fails_once(tree: Path, tests: Sequence[str], settings: Mapping[str, str]) -> tuple[bool, str]:
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-s", "-m", MARKED, "-p", "no:schemathesis",
            "-p", "no:cacheprovider", f"--timeout={LIMIT_S + 600}", *tests]  # fmt: skip
    environ = {**os.environ, "PYTHONPATH": str(tree), **settings}
    done = subprocess.run(argv, cwd=tree, env=environ, capture_output=True, text=True, check=False)
    if done.returncode not in {PASSED, FAILED}:
        raise NoAnswerError(f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.returncode == FAILED, done.stdout


def main(names: Sequence[str]) -> int:
    """Plant all or some; return the exit code."""
    missed = 0
    for defect in listed("planted.toml"):
        if names and not any(name in defect.name for name in names):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                done = search(copied(Path(folder)), defect)
        except NoAnswerError as error:
            missed += 1
            say(f"NO ANSWER  {defect.name}: {error}")
            continue
        missed += done.outcome != FOUND
        # On a machine that is busy few histories pass in the time, and a defect that is not found says little.
        say(f"{done.outcome:<10} {defect.name}, behind {done.passed} histories")
        if done.error:
            say(f"           {done.error}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
