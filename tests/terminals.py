"""Provides two terminals in one folder for lines that documents show: `connect dev` stays up, the rest runs beside
it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from e2e_worker import wait_for

START_S = 240
WAIT_S = 120


class Terminals:
    """Runs lines in two terminals of one folder; `connect` is the one of this installation."""

    def __init__(self, folder):
        self._folder = folder
        self._log = folder / "dev.log"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environ = {**os.environ, "PATH": path}

    def stays_up(self, line):
        with self._log.open("w") as log:
            self._dev = subprocess.Popen(
                ["bash", "-c", line],
                cwd=self._folder,
                env=self._environ,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(lambda: "Ctrl-C stops" in self.said() or self._dev.poll() is not None, START_S, "connect dev")
        assert self._dev.poll() is None, self.said()

    def said(self):
        return self._log.read_text()

    def run(self, lines):
        """Run the lines until one fails, and return the result of the shell that ran them."""
        return subprocess.run(
            ["bash", "-e"], input="\n".join(lines), cwd=self._folder, env=self._environ, capture_output=True, text=True,
            check=False, timeout=START_S,
        )  # fmt: skip

    def output_of(self, lines):
        """Return what the lines print. AssertionError: one of them failed."""
        done = self.run(lines)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def ctrl_c(self):
        if self._dev.poll() is None:
            os.killpg(self._dev.pid, signal.SIGINT)
        return self._dev.wait(WAIT_S)
