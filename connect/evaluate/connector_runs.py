"""What runs of sources and of sinks ask a worker alike: state, failure, stop, removal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from connect.api.deadline import Deadline
from connect.api.errors import ConnectError
from connect.client.rest import ConnectClient, RefusedError
from connect.evaluate.row_values import without_values
from connect.kafka.topics import Settings, TopicAdmin

LOOK_S: Final = 0.2
START_S: Final = 120.0
"""Until the tasks run; the time of a run counts from then on. Of a loaded machine 30 s are not enough."""
STOP_S: Final = 30.0


class SourceCluster(Protocol):
    """Where a source can be run: the sandbox, or a Java cluster."""

    @property
    def rest(self) -> ConnectClient:
        """Its REST API."""

    @property
    def admin(self) -> TopicAdmin:
        """The Kafka it writes to."""

    @property
    def reading(self) -> Settings:
        """Settings of a consumer of that Kafka."""

    def new_name(self, label: str) -> str:
        """A name that no run before had."""

    def remove(self, name: str) -> None:
        """Remove a connector, with what is kept of it."""


def status_of(rest: ConnectClient, name: str) -> dict[str, Any]:
    """The status of a connector; empty while none is written."""
    try:
        found: dict[str, Any] = rest.status(name)
    except RefusedError:
        return {}
    return found


class RunTime:
    """How long a run may still take: its own time from when its tasks run, and before that the time to begin."""

    def __init__(self, duration_s: float, start_s: float = START_S) -> None:
        self._duration_s = duration_s
        self._start_s = start_s
        self._limit = Deadline.after(start_s)
        self._has_begun = False

    def wait(self) -> bool:
        """Until the next look; False: the time is over. ConnectError: its tasks did not run in the time for that."""
        if self._limit.wait(LOOK_S):
            return True
        if not self._has_begun:
            raise ConnectError(f"Its tasks did not run within {self._start_s:g} s.")
        return False

    def saw(self, status: Mapping[str, Any]) -> None:
        """The status at this look."""
        if not self._has_begun and is_running(status):
            self._has_begun = True
            self._limit = Deadline.after(self._duration_s)


def is_running(status: Mapping[str, Any]) -> bool:
    """There are tasks, and all of them run."""
    tasks = status.get("tasks", [])
    return bool(tasks) and all(task["state"] == "RUNNING" for task in tasks)


def failure_of(status: Mapping[str, Any], config: Mapping[str, str], *, show_values: bool) -> str | None:
    """What only a person can mend; what restarts by itself goes on."""
    for part in (status.get("connector", {}), *status.get("tasks", [])):
        if part.get("state") == "FAILED" and part.get("waiting_for") == "person":
            text = str(part.get("reason") or str(part.get("trace", "")).partition("\n")[0])
            return text if show_values else without_values(text, [word for pair in config.items() for word in pair])
    return None


def stop(rest: ConnectClient, name: str) -> None:
    """Stop a connector and wait until it has no task. ConnectError: it takes too long."""
    rest.change_state(name, "stop")
    waiting = Deadline.after(STOP_S)
    while status_of(rest, name).get("tasks"):
        if not waiting.wait(LOOK_S):
            raise ConnectError(f"The connector {name} did not stop in {STOP_S:g} s.")


def remove(rest: ConnectClient, name: str) -> None:
    """Delete a connector; no error where there is none."""
    try:
        rest.delete(name)
    except RefusedError as error:
        if error.status != 404:
            raise
