"""With CONNECT_NO_SKIPS=1 a skip is a failure but where a list says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import skips

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).parents[3]
SKIPPING = """
import pytest
@pytest.fixture
def service():
    pytest.skip("the server is not installed")
def test_needs_a_service(service): pass
@pytest.mark.skipif(True, reason="of another system")
def test_other_system(): pass
@pytest.mark.xfail(reason="a known difference", strict=True)
def test_differs(): assert 0
def test_good(): pass
"""
WHOLE = "import pytest\npytest.importorskip('nothing_of_that_name')\n"


def run(folder: Path, asked: str, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", "-p", "skips", "--rootdir=."]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), skips.ASKED: asked}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout


def test_a_skip_is_no_failure_where_nobody_asks(tmp_path: Path) -> None:
    assert "1 passed, 3 skipped, 1 xfailed" in run(tmp_path, "0", test_skipping=SKIPPING, test_whole=WHOLE)


def test_a_test_that_skips_is_a_failure(tmp_path: Path) -> None:
    said = run(tmp_path, "1", test_skipping=SKIPPING)
    assert "1 passed, 1 xfailed, 2 errors" in said
    assert "the server is not installed\nCONNECT_NO_SKIPS=1: a test may be skipped only where" in said
    assert "of another system\nCONNECT_NO_SKIPS=1" in said


def test_a_file_that_skips_is_a_failure(tmp_path: Path) -> None:
    said = run(tmp_path, "1", test_whole=WHOLE)
    assert "1 error" in said
    assert "could not import 'nothing_of_that_name'" in said


def test_each_skip_that_is_allowed_has_a_reason() -> None:
    assert len(skips.allowed()) <= 10
    for one in skips.allowed():
        assert list(ROOT.glob(one.test.partition("::")[0])), f"{one.test} names no file"
        assert len(one.reason.split()) > 5, one
