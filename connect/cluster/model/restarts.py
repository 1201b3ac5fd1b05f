"""Decides what a restart request selects, and which of two requests for a connector is carried out. Pure.

Source: org.apache.kafka.connect.runtime.RestartRequest and RestartPlan (Kafka 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from connect.cluster.model.config_records import RestartRecord
from connect.cluster.model.statuses import ConnectorStatus, Status
from connect.runtime.task.state import State


def impact(request: RestartRecord) -> int:
    """Return a number that is greater for a wider request.

    The order is: only failed < only failed with tasks < all without tasks < all with tasks.
    """
    return 2 * (not request.only_failed) + request.include_tasks


def wider(first: RestartRecord | None, second: RestartRecord) -> RestartRecord:
    """Return the wider one of two waiting requests for a connector: only that one is carried out."""
    return second if first is None or impact(second) >= impact(first) else first


def selects_connector(request: RestartRecord, state: State | None) -> bool:
    """Return True if the connector itself restarts."""
    return not request.only_failed or state is State.FAILED


def selected_tasks(request: RestartRecord, tasks: Mapping[int, Status]) -> frozenset[int]:
    """Return the numbers of the tasks that restart."""
    if not request.include_tasks:
        return frozenset()
    return frozenset(n for n, s in tasks.items() if not request.only_failed or s.state is State.FAILED)


def as_restarting(status: ConnectorStatus, request: RestartRecord) -> ConnectorStatus:
    """Return the status with the connector and tasks that the request selects as RESTARTING."""
    connector = status.connector
    if selects_connector(request, connector.state):
        connector = _restarting(connector)
    chosen = selected_tasks(request, status.tasks)
    tasks = {number: _restarting(task) if number in chosen else task for number, task in status.tasks.items()}
    return replace(status, connector=connector, tasks=tasks)


def _restarting(status: Status) -> Status:
    return replace(status, state=State.RESTARTING, trace=None)
