"""Runs Python processes that get one request, and answer in lines of JSON until they end.

The request is the first line of a child's standard input. All lines of the child are read to its end, also after the
answer that somebody waits for. So a late error is never lost, and the child can always write.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import IO, Any

from connect.lib import python_child


class AnsweringChild:
    """Talks with a child process. Any thread may use it; the child's owner is the thread that makes it."""

    def __init__(
        self,
        module: str,
        request: Mapping[str, Any],
        *,
        hear: Callable[[Mapping[str, Any]], None],
        ended: Callable[[int], None],
        own_session: bool = False,
        stderr: int | None = None,
    ) -> None:
        """Start `module` as a program and send it the request, which may hold secrets: only the child reads it.

        `hear` is called with each message of the child, then `ended` once with its exit code; a thread of this object
        calls both. With `own_session`, signals of a terminal do not reach the child. `stderr` is as in
        `subprocess.Popen`; all that the child prints goes there.
        """
        self._process = python_child.start(
            python_child.command(module),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, encoding="utf-8",
            start_new_session=own_session,
        )  # fmt: skip
        listener = threading.Thread(target=self._listen, args=(hear, ended), name=module, daemon=True)
        listener.start()
        try:
            _pipe(self._process.stdin).write(f"{json.dumps(request)}\n")
            _pipe(self._process.stdin).flush()
        except BrokenPipeError:
            listener.join()  # The child ended before it read its request; `ended` was called with its exit code.

    @property
    def exit_code(self) -> int | None:
        """Return the child's exit code, or None while it runs."""
        return self._process.poll()

    def cancel(self) -> None:
        """End the child's standard input, which asks it to end (see `end_with_owner`)."""
        _pipe(self._process.stdin).close()

    def kill(self) -> None:
        """Kill the child."""
        self._process.kill()

    def has_ended(self, timeout_s: float) -> bool:
        """Wait for the child's end, and tell if it came in time."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _listen(self, hear: Callable[[Mapping[str, Any]], None], ended: Callable[[int], None]) -> None:
        for line in _pipe(self._process.stdout):
            hear(json.loads(line))
        ended(self._process.wait())


class Answers:
    """Reads the request and sends answers, in the child. Everything else that prints writes to standard error."""

    def __init__(self) -> None:
        """Take standard output for the answers alone, as libraries, and programs that they start, would print into it
        too.
        """
        self._out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        self._lock = threading.Lock()

    def request(self) -> Any:
        """Return the request that the child has to answer."""
        return json.loads(sys.stdin.readline())

    def tell(self, **members: object) -> None:
        """Send the members as one line. Any thread may call it."""
        with self._lock:
            self._out.write(f"{json.dumps(members)}\n")
            self._out.flush()


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
