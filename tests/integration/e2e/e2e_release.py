"""Installs a former release from the commit that was released, and runs workers of it or of today's code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from e2e_worker import WorkerProcess, wait_for

FIRST = "25d1492d"
"""In this commit CHANGELOG.md names 0.1.0 first."""
_MAIN = "from connect.cli import main; main()"


def build_release(commit: str, folder: Path) -> Path:
    """Install the package of a commit, without native code, into a separate folder, and return that folder."""
    source, packages, archive = folder / "source", folder / "packages", folder / "source.tar"
    source.mkdir()
    root = Path(__file__).parents[3]
    _run(["git", "-C", str(root), "archive", "--output", str(archive), commit])
    _run(["tar", "-x", "-f", str(archive), "-C", str(source)])
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    # The first release does not know CONNECT_PURE, but it also leaves its native code out if there is no compiler.
    _run([*pip, "--target", str(packages), str(source)], CONNECT_PURE="1", CC="false", CXX="false")
    return packages


def _run(command: list[str], **environ: str) -> None:
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class ReleasedWorker(WorkerProcess):
    """Keeps a worker of the release in `packages`, or of the present code if that is None."""

    packages: Path | None = None

    def start(self, timeout_s: float = 60.0) -> None:
        """Start the worker on the topics that exist, and wait until it is healthy."""
        if self.packages is None:
            super().start(timeout_s)
            return
        self._launch()
        wait_for(self._is_up, timeout_s, lambda: f"health of a worker of the release: {self.log_tail()}")

    def _is_up(self) -> bool:
        """Tell if the worker is healthy. If it has ended, it is started again, as a supervisor does.

        On a loaded machine the first release ends if a broker does not know its topics yet.
        """
        if not self.is_running():
            self._launch()
        return self.healthy()

    def _launch(self) -> None:
        with self.log_path.open("ab") as log:
            process: Any = subprocess.Popen(
                [sys.executable, "-c", _MAIN, "worker", str(self._file)],
                cwd=self._folder,
                env={**os.environ, "PYTHONPATH": str(self.packages)},
                stdout=log,
                stderr=log,
            )
        self._process = process
