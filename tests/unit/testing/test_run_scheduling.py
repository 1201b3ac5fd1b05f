"""A run on several processes goes on behind a test that ends its process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough
PLAIN = "def test_1(): pass\ndef test_2(): pass\n"
ENDS_ITS_PROCESS = """
import os
from pathlib import Path
def test_1(): pass
def test_2():
    if not Path("was-here").exists():
        Path("was-here").touch()
        os._exit(1)
"""


@pytest.mark.parametrize("processes", ["1", "3"])
def test_all_others_are_run_and_what_ended_its_process_has_failed(tmp_path: Path, processes: str) -> None:
    for name in "abcdef":
        (tmp_path / f"test_{name}.py").write_text(PLAIN)
    (tmp_path / "test_g.py").write_text(ENDS_ITS_PROCESS)
    options = ["-q", "-p", "scheduling", "-n", processes, "--dist", "loadfile", "--no-loadscope-reorder"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:schemathesis", f"--rootdir={tmp_path}", str(tmp_path)],
        capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert "crashed while running 'test_g.py::test_2'" in done.stdout, done.stdout + done.stderr
    assert "1 failed, 14 passed" in done.stdout  # that one is run again
