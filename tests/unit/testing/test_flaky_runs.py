"""A test that fails and then passes is shown with both outputs; one that fails twice stays a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flaky.second_try import known

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).parents[3]
FLAKY = """
from pathlib import Path
def test_race():
    seen = Path("seen").exists()
    print("seen before:", seen)
    Path("seen").touch()
    assert seen
def test_good():
    print("nothing of interest")
"""
BROKEN = "def test_broken():\n    assert 1 == 2\n"


def second_try(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.flaky.second_try", "-q", "-p", "no:schemathesis", "--rootdir=.", *arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("more", [(), ("-n", "2")], ids=["one process", "two processes"])
def test_a_flaky_test_is_shown_with_both_outputs(tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "test_race.py").write_text(FLAKY)
    done = second_try(tmp_path, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout.partition("FLAKY: test_race.py::test_race")[2]
    failed, _, passed = shown.partition("the run that passed")
    assert "NOT KNOWN" in failed
    assert "seen before: False" in failed
    assert "assert False" in failed
    assert "seen before: True" in passed
    assert "nothing of interest" not in shown


def test_what_fails_twice_fails(tmp_path: Path) -> None:
    (tmp_path / "test_race.py").write_text(FLAKY)
    (tmp_path / "test_broken.py").write_text(BROKEN)
    done = second_try(tmp_path)
    assert done.returncode == 1
    assert "FLAKY: test_race.py::test_race" in done.stdout
    assert "FLAKY: test_broken.py" not in done.stdout


def test_many_failures_are_no_races(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("".join(f"def test_{n}():\n    assert 0\n" for n in range(31)))
    done = second_try(tmp_path)
    assert done.returncode == 1
    assert "Once more" not in done.stdout


def test_a_file_that_cannot_be_read_is_no_flaky_test(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("import nothing_of_that_name\n")
    assert second_try(tmp_path).returncode == 2


def test_known_flaky_tests_are_few_and_have_a_cause() -> None:
    assert len(known()) <= 3
    for test, cause in known().items():
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8"), test
        assert len(cause.split()) > 5, f"{test}: {cause}"
