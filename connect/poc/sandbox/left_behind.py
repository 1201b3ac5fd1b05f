"""Notes the targets that an evaluation makes, so that the next one can remove those that a killed evaluation left.

There is a file in the user's state folder for each target, as long as the target exists. The file holds no
configuration, only its hash, so that a target is looked for where it was made and nowhere else.
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
    """Describes a target that was left behind, and the file that notes it."""

    name: str
    file: Path


def state_folder() -> Path:
    """Return the folder of the files, in $XDG_STATE_HOME or else ~/.local/state."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(home) / "connect-for-kafka" / "poc"


def note_target(name: str, config: Mapping[str, str]) -> Path:
    """Note that this process is about to make a target. Return the note's file, to be deleted with the target."""
    folder = state_folder()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    me = psutil.Process()
    noted = {"target": name, "of": fingerprint(config), "pid": me.pid, "since_s": me.create_time()}
    file.write_text(json.dumps(noted), encoding="utf-8")
    return file


def left_targets(config: Mapping[str, str]) -> Iterator[LeftTarget]:
    """Yield the targets made for this configuration by processes that are gone."""
    for file in sorted(state_folder().glob("*.json")):
        try:
            noted = json.loads(file.read_text(encoding="utf-8"))
            name, pid, since_s, of = noted["target"], noted["pid"], noted["since_s"], noted["of"]
        except (OSError, ValueError, TypeError, KeyError):
            continue  # another process is writing the note just now, or has removed it
        if of == fingerprint(config) and not _lives(pid, since_s):
            yield LeftTarget(name, file)


def fingerprint(config: Mapping[str, str]) -> str:
    """Return a hash of the settings that say where a sink writes and as whom."""
    text = json.dumps(sorted((key, value) for key, value in config.items() if key not in NOT_OF_THE_TARGET))
    return hashlib.sha256(text.encode()).hexdigest()


def _lives(pid: int, since_s: float) -> bool:
    try:
        return bool(abs(psutil.Process(pid).create_time() - since_s) < 1.0)
    except psutil.NoSuchProcess:
        return False
