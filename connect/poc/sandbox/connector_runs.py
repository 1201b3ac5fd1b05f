"""Provides what runs of sources and runs of sinks have in common: state, failure, stop and removal of a connector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from connect.api.errors import ConnectError
from connect.client.rest import ConnectClient, RefusedError
from connect.kafka.admin.topics import Settings, TopicAdmin
from connect.lib.deadline import Deadline
from connect.poc.sandbox.row_values import without_values

LOOK_S: Final = 0.2
START_S: Final = 120.0
"""The tasks may take this many seconds to start before the time of a run begins.

30 s are too few on a loaded machine.
"""
STOP_S: Final = 30.0


_CLIENTS: Final = tuple(
    f"{client}.override.{setting}"
    for client in ("producer", "consumer", "admin")
    for setting in ("bootstrap.servers", "security.", "sasl.", "ssl.")
)


_SIGNALS: Final = "signal.kafka.bootstrap.servers"
_SIGNALS_BY: Final = "signal.consumer.security.protocol"


def at_own_brokers(config: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration without keys that lead its clients to other brokers than its cluster's.

    Where signals for Debezium's connectors are read from other brokers, these ask for no login unless it says so.
    """
    kept = {key: value for key, value in config.items() if not key.startswith(_CLIENTS)}
    return {_SIGNALS_BY: "PLAINTEXT", **kept} if kept.get(_SIGNALS) else kept


class SourceCluster(Protocol):
    """Describes a cluster that a source can run in: the sandbox, or a Java cluster."""

    @property
    def rest(self) -> ConnectClient:
        """Return the client of the cluster's REST API."""

    @property
    def admin(self) -> TopicAdmin:
        """Return a client of the Kafka that the cluster writes to."""

    @property
    def reading(self) -> Settings:
        """Return the settings of a consumer of that Kafka."""

    def new_name(self, label: str) -> str:
        """Return a name for a connector that no earlier run had."""

    def remove(self, name: str) -> None:
        """Delete a connector and its offsets."""


def status_of(rest: ConnectClient, name: str) -> dict[str, Any]:
    """Return the status of a connector; empty while it has none yet."""
    try:
        found: dict[str, Any] = rest.status(name)
    except RefusedError:
        return {}
    return found


class RunTime:
    """Measures the time that a run has left: first the time to start its tasks, and from then on its own time."""

    def __init__(self, duration_s: float, start_s: float = START_S) -> None:
        self._duration_s = duration_s
        self._start_s = start_s
        self._limit = Deadline.after(start_s)
        self._has_begun = False

    def wait(self) -> bool:
        """Wait until the next look. Return False once time is over. ConnectError: the tasks did not start in time."""
        if self._limit.wait(LOOK_S):
            return True
        if not self._has_begun:
            raise ConnectError(f"Its tasks did not run within {self._start_s:g} s.")
        return False

    def saw(self, status: Mapping[str, Any]) -> None:
        """Note the connector's status at this look."""
        if not self._has_begun and is_running(status):
            self._has_begun = True
            self._limit = Deadline.after(self._duration_s)


def is_running(status: Mapping[str, Any]) -> bool:
    """Tell if there are tasks and all of them run."""
    tasks = status.get("tasks", [])
    return bool(tasks) and all(task["state"] == "RUNNING" for task in tasks)


def failure_of(status: Mapping[str, Any], config: Mapping[str, str], *, show_values: bool) -> str | None:
    """Return why the connector failed for good; None while it runs or restarts by itself."""
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
    """Delete a connector. It is no error if there is none."""
    try:
        rest.delete(name)
    except RefusedError as error:
        if error.status != 404:
            raise
