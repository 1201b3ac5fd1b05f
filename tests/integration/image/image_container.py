"""Runs a container of an image without a container engine: with the image's files alone, read-only, as the image's
user.

It has no further rights, and this machine's network. It has its own namespaces for processes and mounts, so that its
first process is number 1 in it, as in an engine's container.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from e2e_worker import wait_for
from image_build import Image

DATA: Final = "/data"
"""A container sees the folder that it shares with the test under this path."""
_ENTER: Final = """
set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --bind "$2" "$1/data"
mount -o remount,bind,ro "$1"
"""


class Container:
    """Keeps a running container, with the methods of `subprocess.Popen` for its first process."""

    def __init__(
        self, image: Image, shared: Path, arguments: Sequence[str], environ: Mapping[str, str], output: IO[bytes]
    ) -> None:
        """Start the image's entry point with arguments. `shared` is the folder that is /data in the container."""
        self._image = image
        self._environ = {**image.environment(), **environ}
        (image.root / DATA.lstrip("/")).mkdir(exist_ok=True)
        inside = shlex.join(self._as_user([*image.config["Entrypoint"], *arguments]))
        script = f'{_ENTER}exec chroot "$1" {inside}'
        namespaces = ("--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--propagation=private")
        self._outside = subprocess.Popen(
            ["unshare", *namespaces, "sh", "-c", script, "enter", str(image.root), str(shared)],
            stdout=output, stderr=output, env=self._environ,
        )  # fmt: skip
        self.pid = wait_for(self._child, 30, "the first process of a container")

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command in the container as `docker exec` does, and as an engine runs its HEALTHCHECK."""
        return subprocess.run(
            ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--root", "--wd", *self._as_user(command)],
            env=self._environ, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    def poll(self) -> int | None:
        """Return the exit code; None while the container runs."""
        return self._outside.poll()

    def wait(self, timeout_s: float) -> int:
        """Wait for the container, and return its exit code. subprocess.TimeoutExpired: it still runs."""
        return self._outside.wait(timeout_s)

    def send_signal(self, number: int) -> None:
        """Send its first process a signal."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the container, as a crash of its machine would."""
        self.send_signal(signal.SIGKILL)

    def processes(self) -> dict[int, str]:
        """Return the states of all its processes, by their numbers in the container."""
        return {number: fields[0] for number, fields in self._stats().items()}

    def cpu_s(self) -> float:
        """Return the CPU that its processes have taken, those that ended included."""
        ticks = sum(int(ticks) for fields in self._stats().values() for ticks in fields[11:15])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _stats(self) -> dict[int, list[str]]:
        """Return what /proc/PID/stat has of each process behind its name."""
        inside = self.run(["cat", *(f"/proc/{number}/stat" for number in self.run(["ls", "/proc"]).stdout.split()
                                    if number.isdigit())])  # fmt: skip
        lines = [line.rpartition(")") for line in inside.stdout.splitlines()]
        return {int(head.split(" ", 1)[0]): tail.split() for head, _, tail in lines}

    def _as_user(self, command: Sequence[str]) -> list[str]:
        user, _, group = self._image.config["User"].partition(":")
        rights = ("--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
        return ["/usr/bin/setpriv", f"--reuid={user}", f"--regid={group}", *rights, *command]

    def _child(self) -> int | None:
        children = Path(f"/proc/{self._outside.pid}/task/{self._outside.pid}/children").read_text().split()
        assert self._outside.poll() is None, "The container ended at once."
        return int(children[0]) if children else None
