"""Runs calls of the user's plug-in in processes of their own (`connect.poc.child`), each within a time limit."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from connect.lib import python_child
from connect.runtime.parts.connector_settings import ConnectorSettings

GRACE_S: Final = 20.0
"""A child that does not answer is ended this many seconds after its own time is over."""
MEMORY_MAX: Final = 4 * 2**30
"""A child may take this many bytes of memory. One that wants more gets a MemoryError; other processes go on."""
_SAID_CHARS: Final = 500


def asked_of(
    settings: ConnectorSettings, action: str, timeout_s: float, *, grace_s: float = GRACE_S, **more: Any
) -> dict[str, Any]:
    """Run an action of `child.ACTIONS` in a child process, and return its answer as parsed JSON.

    `more` is what the action needs beside the settings. If the child did not answer, `broken` in the answer says why,
    and `error` holds what the child printed last.
    """
    asked = {
        "do": action, "worker": dict(settings.worker), "connector": dict(settings.connector), "timeout_s": timeout_s,
        **more,
    }  # fmt: skip
    pipe = subprocess.PIPE
    argv = python_child.command("connect.poc.child")
    with python_child.start(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        _limit_memory(process.pid)
        try:
            answer, said = process.communicate(json.dumps(asked), timeout_s + grace_s)
        except subprocess.TimeoutExpired:
            return _broken(f"it did not return in {timeout_s + grace_s:.0f} s and was ended")
        finally:
            process.kill()
    if process.returncode != 0:
        return _broken(f"its process ended with code {process.returncode}", said[-_SAID_CHARS:].strip())
    found: dict[str, Any] = json.loads(answer)
    return found


def _limit_memory(pid: int) -> None:
    """Limit the memory of a process on Linux; other systems cannot limit another process."""
    if sys.platform == "linux":
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))


def _broken(what: str, said: str = "") -> dict[str, Any]:
    return {"broken": what, "error": said}


def reason_of(answer: Mapping[str, Any]) -> str | None:
    """Return why an action failed; None if it succeeded."""
    if answer.get("error") is None:
        return None
    return ": ".join(text for text in (answer.get("broken"), answer["error"]) if text)
