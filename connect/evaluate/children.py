"""Runs a module of this package in a process of its own and takes its answer, within a time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

GRACE_S: Final = 20.0
"""How much longer than its time such a process may take before it is ended."""
_SAID_CHARS: Final = 500


def asked_of(module: str, asked: Mapping[str, Any], timeout_s: float, grace_s: float = GRACE_S) -> dict[str, Any]:
    """The answer, JSON. `broken`: the process did not answer, for this reason; `error` is then what it said last."""
    try:
        done = subprocess.run(  # noqa: S603 - a module of this package
            [sys.executable, "-m", module],
            input=json.dumps({**asked, "timeout_s": timeout_s}), capture_output=True, text=True,
            timeout=timeout_s + grace_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return _broken(f"it did not return in {timeout_s + grace_s:.0f} s and was ended")
    if done.returncode != 0:
        return _broken(f"its process ended with code {done.returncode}", done.stderr[-_SAID_CHARS:].strip())
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _broken(what: str, said: str = "") -> dict[str, Any]:
    return {"broken": what, "error": said, "warnings": []}


def reason_of(answer: Mapping[str, Any]) -> str | None:
    """Why there is no good answer; None: there is one."""
    if answer.get("error") is None:
        return None
    return ": ".join(text for text in (answer.get("broken"), answer["error"]) if text)
