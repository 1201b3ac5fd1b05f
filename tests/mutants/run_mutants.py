"""Breaks each invariant once, in a copy of the tree, and fails where no quick test notices: `make mutants`.

The list is mutants.toml. Names given as arguments choose those that contain one of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("configs", "connect", "connectors", "tests", "pyproject.toml")
LIMIT_S = 600
"""The tests of one mutant may take so long."""
TEST_LIMIT_S = 20
"""Each test may take so long. A test that hangs has noticed the mutant, unless the machine is too busy for it."""
PASSED, FAILED = 0, 1
"""What pytest returns (pytest.ExitCode); everything else is no answer."""
NOTICED, LATE, NOT_NOTICED = "noticed", "LATE", "NOT NOTICED"
"""These words tell what became of a mutant. LATE: tests failed by their time limit alone, as on a busy machine."""


@dataclass(frozen=True)
class Mutant:
    """`after` in the place of `before`, which stands once in `file`.

    `theme` is the theme of the random histories that have to find it; empty: any may.
    """

    name: str
    file: str
    before: str
    after: str
    tests: Sequence[str]
    theme: str = ""


class NoAnswerError(Exception):
    """Whether a test notices cannot be said."""


def listed(name: str = "mutants.toml") -> Iterator[Mutant]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    for one in tomllib.loads(text)["mutant"]:
        yield Mutant(**one)


def noticed(tree: Path, mutant: Mutant) -> str:
    """Return what quick tests of the tree say once it is broken so; the tree is mended in the end."""
    file = tree / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.before) != 1:
        raise NoAnswerError(f"{mutant.file} has {text.count(mutant.before)} places like this one:\n{mutant.before}")
    file.write_text(text.replace(mutant.before, mutant.after), encoding="utf-8")
    try:
        return judged(tree, mutant.tests)
    finally:
        file.write_text(text, encoding="utf-8")


def judged(tree: Path, tests: Sequence[str]) -> str:
    """Run these quick tests in the tree, up to the first that fails; return one of NOTICED, LATE, NOT_NOTICED."""
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-m", "quick", "-p", "no:schemathesis",
            "-p", "no:cacheprovider", "--timeout", str(TEST_LIMIT_S), *tests]  # fmt: skip
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # First of all the tree itself, before the place where the package is installed.
    process = subprocess.Popen(
        argv, cwd=tree, env=environ | {"PYTHONPATH": str(tree)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return LATE
    if process.returncode not in {PASSED, FAILED}:
        raise NoAnswerError(f"pytest ended with {process.returncode}:\n{said[-2000:]}")
    if process.returncode == PASSED:
        return NOT_NOTICED
    return LATE if f"Timeout (>{TEST_LIMIT_S}" in said else NOTICED


def copied(tree: Path) -> Path:
    """Copy what is broken and tested into a folder; return it."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    return tree


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(names: Sequence[str]) -> int:
    chosen = [mutant for mutant in listed() if not names or any(name in mutant.name for name in names)]
    if not chosen:
        say(f"No mutant has a name with one of these: {', '.join(names)}")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(Path(folder))
        unbroken = sorted({test for mutant in chosen for test in mutant.tests})
        if judged(tree, unbroken) != NOT_NOTICED:
            say("The tests fail before anything is broken. Mend them first: make check")
            return 2
        outcomes = Counter[str]()
        for mutant in chosen:
            try:
                said = noticed(tree, mutant)
            except NoAnswerError as error:
                said = f"NO ANSWER: {error}"
            outcomes[said] += 1
            say(f"{said:<12} {mutant.name}")
    say(f"{outcomes[NOTICED]} of {len(chosen)} mutants are noticed by quick tests, {outcomes[LATE]} by time limits.")
    return 0 if outcomes[NOTICED] + outcomes[LATE] == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
