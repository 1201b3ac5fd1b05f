"""A copy of the product to which a test adds something, as a stranger would: new files, and lines of files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("connect", "connectors")


class TreeCopy:
    """The copy below `folder`. `touched`: the files of the product that were written or changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.touched: set[str] = set()
        for package in PACKAGES:
            shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))

    def write(self, name: str, text: str) -> None:
        """Add a file of the product."""
        path = self.folder / name
        assert not path.exists(), f"{name} is there already"
        path.write_text(text, encoding="utf-8")
        self.touched.add(name)

    def insert(self, name: str, text: str, before: str) -> None:
        """Put a text into a file of the product, before another one that is there once."""
        path = self.folder / name
        old = path.read_text(encoding="utf-8")
        assert old.count(before) == 1, f"{before!r} is in {name} {old.count(before)} times"
        path.write_text(old.replace(before, text + before), encoding="utf-8")
        self.touched.add(name)

    def run(self, script: str, *arguments: str) -> str:
        """Run a program of the copy; what it printed."""
        paths = [self.folder, ROOT / "tests/unit/rest", ROOT / "tests/unit/cluster_validation"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], cwd=self.folder, env=environment, capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout
