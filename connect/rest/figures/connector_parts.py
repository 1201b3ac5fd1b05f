"""Reads the parts of connectors that `connect status` shows, from this worker's own knowledge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from connect.cluster.model.operations import Operations
from connect.cluster.model.request_errors import NotFoundError
from connect.rest.server.answers import status_json


def connector_parts(operations: Operations, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return `{name: {"info": …, "status": …}}` of these connectors; one that was deleted meanwhile is left out."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        with suppress(NotFoundError):
            info = operations.connectors.info(name)
            shown: dict[str, Any] = {
                "type": info.type,
                "config": {"connector.class": info.config.get("connector.class", "")},
            }
            shown["tasks"] = [{"connector": name, "task": task.task} for task in info.tasks]
            found[name] = {"info": shown, "status": _status(operations, name)}
    return found


def task_ids(parts: Mapping[str, Any]) -> list[str]:
    """Return a connector's tasks, as `name-0`."""
    status = parts["status"]
    return [f"{status['name']}-{task['id']}" for task in status["tasks"]]


def _status(operations: Operations, name: str) -> dict[str, Any]:
    try:
        return status_json(operations.connectors.status(name))
    except NotFoundError:
        return {"name": name, "connector": {"state": "UNASSIGNED", "worker_id": ""}, "tasks": []}
