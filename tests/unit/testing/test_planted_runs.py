"""A planted defect is found only if the same tests pass without it, and what hinders the tests is no defect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.run_mutants import Mutant, NoAnswerError
from tests.mutants.run_planted import FOUND, NOT_FOUND, STARTS, UNSURE, search

pytestmark = pytest.mark.thorough
TEST = """
from pathlib import Path
import pytest
from product import value
class ServiceStartError(Exception):
    pass
class ServiceTimeoutError(Exception):
    pass
@pytest.mark.histories
def test_history():
    with Path("runs").open("a+") as runs:
        runs.seek(0)
        number = len(runs.read())
        runs.write(".")
    if number in {HINDERED}:
        raise (ServiceStartError if number else ServiceTimeoutError)("Gave up waiting for a broker.")
    assert {PROMISE}
"""
ONCE = """
@pytest.mark.histories
def test_that_cannot_run_twice():
    Path("ran").touch(exist_ok=False)
"""
DEFECT = Mutant("a defect", "product.py", "return 1", "return 2", ["test_it.py"])


def tree(folder: Path, promise: str = "value() == 1", hindered: tuple[int, ...] = ()) -> Path:
    (folder / "product.py").write_text("def value():\n    return 1\n")
    (folder / "test_it.py").write_text(TEST.replace("{HINDERED}", str(hindered)).replace("{PROMISE}", promise))
    return folder


def test_a_run_without_its_services_is_done_again(tmp_path: Path) -> None:
    done = search(tree(tmp_path, hindered=(0, 1)), DEFECT)
    assert (done.outcome, "assert 2 == 1" in done.error) == (FOUND, True), done
    assert "return 1" in (tmp_path / "product.py").read_text()


def test_only_what_failed_is_run_again(tmp_path: Path) -> None:
    file = tree(tmp_path) / "test_it.py"
    file.write_text(file.read_text().replace("@pytest", f"{ONCE.strip()}\n@pytest"))
    assert search(tmp_path, DEFECT).outcome == FOUND


def test_services_that_never_start_are_no_answer(tmp_path: Path) -> None:
    with pytest.raises(NoAnswerError, match=f"none of {STARTS} runs .*Gave up waiting for a broker"):
        search(tree(tmp_path, hindered=tuple(range(STARTS))), DEFECT)


def test_what_passes_has_not_found_it(tmp_path: Path) -> None:
    assert search(tree(tmp_path, promise="value() > 0"), DEFECT).outcome == NOT_FOUND


def test_what_fails_without_the_defect_has_not_found_it(tmp_path: Path) -> None:
    assert search(tree(tmp_path, promise="value() > 2"), DEFECT).outcome == UNSURE


HISTORY = """
import json
import pytest
from pathlib import Path
from product import value
@pytest.mark.histories
def test_history():
    folder = Path("build/histories")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "part-1.json").write_text(json.dumps({"steps": ["a step"] * {STEPS}[value()]}))
    raise AssertionError("a step failed")
"""


@pytest.mark.parametrize(("steps", "outcome"), [({1: 5, 2: 4}, FOUND), ({1: 4, 2: 4}, UNSURE), ({1: 3, 2: 4}, UNSURE)])
def test_a_history_that_gets_further_without_the_defect_has_found_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: dict[int, int], outcome: str
) -> None:
    monkeypatch.setattr("tests.mutants.run_planted.ROOT", tmp_path / "root")
    tree(tmp_path)
    (tmp_path / "test_it.py").write_text(HISTORY.replace("{STEPS}", str(steps)))
    assert search(tmp_path, DEFECT).outcome == outcome
    kept = tmp_path / "root" / "build" / "histories"
    assert {file.name for file in kept.iterdir()} == {"planted-part-1.json", "clean-part-1.json"}
