"""Keeps a cluster's connectors as a folder of files describes them, and reports a condition for each.

The conditions are those of Kubernetes. There is one of type Ready for every connector that a file describes, and for
every file that cannot be used or folder that is not read. It has a status, a word as its reason, a message, and the
time at which the status changed.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from connect.api.errors import ConfigError, ConfigProblem, ConnectError
from connect.client.apply_changes import carry_out
from connect.client.changes import Change, changes
from connect.client.manifests import Manifest, cut_problems, newest_change_s, read_usable
from connect.client.rest import ConnectClient, RefusedError
from connect.lib.printable import counted

Status = Literal["True", "False", "Unknown"]
_EMPTY: Final = (
    "No file names a connector, so none is deleted: the folder may not be mounted. Delete the last one by "
    "`connect connectors delete`."
)
_NOT_WANTED: Final = "No file wants it: it is deleted if the next look finds so, too."
_SETTLED_S: Final = 1.0
"""A file that was changed less than so many seconds ago may be half written, and YAML's first half is YAML, too."""
_SETTLING_S: Final = 10.0
"""Files that are changed all the time are read after so many seconds."""
_KEYS_TOLD: Final = 5
_DONE: Final = {"create": "Created", "update": "Updated", "delete": "Deleted"}


@dataclass(frozen=True, slots=True)
class Condition:
    """Says if a connector or file is as it should be. `since` is when the status changed, as RFC 3339 in UTC."""

    about: str
    status: Status
    reason: str
    message: str
    since: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the condition as in a KafkaConnector's `status.conditions`, with the name of the connector or file."""
        told = {"type": "Ready", "status": self.status, "reason": self.reason, "message": self.message}
        return {"name": self.about, "conditions": [{**told, "lastTransitionTime": self.since}]}


class FolderSync:
    """Changes a cluster's connectors to what files describe, each time it is asked. Owned by one thread."""

    def __init__(
        self,
        client: ConnectClient,
        paths: Sequence[Path],
        *,
        prune: bool = False,
        clock_s: Callable[[], float] = time.time,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        """With `prune`, delete connectors that no file describes, when two passes in a row find so.

        No connector is deleted while a file cannot be used, or while no file describes any connector. `wait` waits for
        so many seconds, so that a file is not read while it is written; without it files are read at once.
        """
        self._client = client
        self._paths = paths
        self._prune = prune
        self._clock_s = clock_s
        self._wait = wait
        self._conditions: dict[str, Condition] = {}
        self._sent: dict[str, Manifest] = {}
        """Holds what was sent last. The cluster masks secrets, so it cannot tell if it has the new ones."""
        self._unwanted: frozenset[str] = frozenset()
        """Holds what no file described in the last pass: a checkout removes files before it writes them anew."""

    @property
    def conditions(self) -> Sequence[Condition]:
        """Return the conditions of the last pass, sorted by the name of the connector or file."""
        return [self._conditions[about] for about in sorted(self._conditions)]

    def run_once(self) -> Sequence[Condition]:
        """Compare files and cluster, change what differs, and return the conditions that have changed."""
        found = {condition.about: self._dated(condition) for condition in self._pass()}
        news = [condition for about, condition in sorted(found.items()) if condition != self._conditions.get(about)]
        self._conditions = found
        return news

    def _pass(self) -> Iterator[Condition]:
        unwanted_before, self._unwanted = self._unwanted, frozenset()
        self._settle()
        notes: list[ConfigProblem] = []
        try:
            wanted, problems = read_usable(self._paths, notes)
        except ConfigError as error:  # the folder is not there, for instance while a checkout is replaced
            wanted, problems = [], [ConfigProblem(str(self._paths[0]), str(error))]
        cut = cut_problems(wanted)
        wanted = [one for one in wanted if one.source not in {problem.key for problem in cut}]
        problems = [*problems, *cut]
        for problem in problems:
            yield Condition(str(problem.key), "False", "FileNotUsable", problem.message)
        for note in notes:
            yield Condition(str(note.key), "True", "Noted", note.message)
        is_pruned = self._prune and not problems
        if is_pruned and not wanted:
            is_pruned = False
            yield Condition(str(self._paths[0]), "False", "NoConnectors", _EMPTY)
        try:
            present = self._client.connectors()
        except ConnectError as error:
            for manifest in wanted:
                yield Condition(manifest.name, "Unknown", "ClusterDoesNotAnswer", str(error))
            return
        found = changes(wanted, present, prune=is_pruned)
        self._unwanted = frozenset(change.name for change in found if change.verb == "delete")
        for change in found:
            if change.name in self._unwanted - unwanted_before:
                yield Condition(change.name, "Unknown", "NotWanted", _NOT_WANTED)
            else:
                yield from self._made(change, present)

    def _settle(self) -> None:
        """Wait until no file was changed just now."""
        if self._wait is None:
            return
        until_s = self._clock_s() + _SETTLING_S
        while (now_s := self._clock_s()) < until_s:
            try:
                left_s = newest_change_s(self._paths) + _SETTLED_S - now_s
            except ConfigError:  # a folder has gone just now, which the reading after this tells
                return
            # Where the clocks of a file server and of this machine differ, no wait would tell anything.
            if not 0 < left_s <= _SETTLED_S or self._wait(left_s) is True:
                return

    def _made(self, change: Change, present: Mapping[str, Any]) -> Iterator[Condition]:
        if not self._is_due(change):
            yield _state(change.name, present[change.name].get("status", {}))
            return
        try:
            carry_out(self._client, change)
        except RefusedError as error:
            yield Condition(change.name, "False", "Refused", str(error))
            return
        except ConnectError as error:
            yield Condition(change.name, "Unknown", "ClusterDoesNotAnswer", str(error))
            return
        if change.manifest is None:
            self._sent.pop(change.name, None)
            yield Condition(change.name, "False", "Deleted", "No file wants it, so it was deleted.")
        else:
            told = _sent_again(change) if self._sent.get(change.name) == change.manifest else "was sent"
            self._sent[change.name] = change.manifest
            yield Condition(change.name, "Unknown", _DONE[change.verb], f"{change.manifest.source} {told}.")

    def _is_due(self, change: Change) -> bool:
        if change.verb == "leave":
            return False
        is_hidden_alone = change.verb == "update" and not (change.keys or change.state)
        return not (is_hidden_alone and self._sent.get(change.name) == change.manifest)

    def _dated(self, condition: Condition) -> Condition:
        known = self._conditions.get(condition.about)
        if known is not None and known.status == condition.status:
            return replace(condition, since=known.since)
        return replace(condition, since=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock_s())))


def write_conditions(file: Path, conditions: Collection[Condition]) -> None:
    """Write conditions as JSON; readers find the old file or the new one, whole. OSError: it cannot be written."""
    text = json.dumps({"items": [condition.as_json() for condition in conditions]}, indent=2, ensure_ascii=False)
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text + "\n")
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _sent_again(change: Change) -> str:
    """Return what to say where the cluster no longer has what this process sent: two who keep it would go on so."""
    if change.verb == "create":
        what = "deleted it"
    elif change.keys:
        what = f"changed {', '.join(one.key for one in change.keys[:_KEYS_TOLD])}"
    else:
        what = "brought it to another state"
    return f"was sent again, as somebody else had {what}: see connect connectors history {change.name}"


def _state(name: str, status: Mapping[str, Any]) -> Condition:
    """Return the condition of a connector whose configuration is as its file describes it, by its status."""
    state = str(status.get("connector", {}).get("state", "UNASSIGNED"))
    tasks = status.get("tasks", [])
    failed = [str(task["id"]) for task in tasks if task["state"] == "FAILED"]
    if state == "FAILED" or failed:
        what = "The connector" if state == "FAILED" else f"Task {', '.join(failed)}"
        return Condition(name, "False", "Failed", f"{what} has failed: see connect connectors why {name}.")
    if state in {"PAUSED", "STOPPED"}:
        return Condition(name, "True", state.capitalize(), f"The connector is {state.lower()}, as it was told.")
    if state == "RUNNING" and tasks and all(task["state"] == "RUNNING" for task in tasks):
        return Condition(name, "True", "Running", f"{counted(len(tasks), 'task')} in state RUNNING.")
    return Condition(name, "Unknown", "Starting", "Not all of its tasks run yet.")
