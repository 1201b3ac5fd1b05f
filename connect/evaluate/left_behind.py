"""Targets apart that an evaluation made and could not remove, as it was killed: they are removed by the next one.

A file for each target while there is one, in the user's state folder. It holds no configuration, only a hash of it, so
that a target is looked for where it was made and nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import psutil

NOT_OF_THE_TARGET = ("name", "topics", "topics.regex", "tasks.max")


class LeftTarget(NamedTuple):
    """A target, and the file that tells of it."""

    name: str
    file: Path


def state_folder() -> Path:
    """Where the files are: in $XDG_STATE_HOME, or ~/.local/state."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(home) / "connect-for-kafka" / "poc"


def note_target(name: str, config: Mapping[str, str]) -> Path:
    """Write down that this process is about to make a target; the file to delete once it is removed."""
    folder = state_folder()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    me = psutil.Process()
    noted = {"target": name, "of": fingerprint(config), "pid": me.pid, "since_s": me.create_time()}
    file.write_text(json.dumps(noted), encoding="utf-8")
    return file


def left_targets(config: Mapping[str, str]) -> Iterator[LeftTarget]:
    """The targets of a configuration whose processes are gone."""
    for file in sorted(state_folder().glob("*.json")):
        try:
            noted = json.loads(file.read_text(encoding="utf-8"))
            name, pid, since_s, of = noted["target"], noted["pid"], noted["since_s"], noted["of"]
        except (OSError, ValueError, TypeError, KeyError):
            continue  # being written just now by another one, or removed
        if of == fingerprint(config) and not _lives(pid, since_s):
            yield LeftTarget(name, file)


def fingerprint(config: Mapping[str, str]) -> str:
    """A hash of what says where a sink writes and as whom."""
    text = json.dumps(sorted((key, value) for key, value in config.items() if key not in NOT_OF_THE_TARGET))
    return hashlib.sha256(text.encode()).hexdigest()


def _lives(pid: int, since_s: float) -> bool:
    try:
        return bool(abs(psutil.Process(pid).create_time() - since_s) < 1.0)
    except psutil.NoSuchProcess:
        return False
