"""Turns values of the cluster into JSON, member by member in Kafka Connect's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from aiohttp import web

from connect.api.plugin import Plugin
from connect.cluster.model.connector_values import ConnectorInfo
from connect.cluster.model.statuses import ConnectorStatus, Status
from connect.cluster.model.validation_infos import Definition
from connect.rest.server.context import context_of
from connect.rest.server.routing import JSON
from connect.rest.server.secrets import Secrets
from connect.rest.server.waiting import MASKING, of_configs
from connect.runtime.task.condition import NOTHING, Condition


def json_answer(value: Any, status: int = 200) -> web.Response:
    """Return an answer in compact JSON; its content type has no charset, as in Kafka Connect."""
    response = web.Response(body=orjson.dumps(value), status=status)
    response.headers["Content-Type"] = JSON
    return response


def empty_answer(status: int) -> web.Response:
    """Return an answer without a body."""
    return web.Response(status=status)


async def shown_config(request: web.Request, config: Mapping[str, str]) -> dict[str, str]:
    """Return a configuration with secrets masked; a large one is masked on another thread than the event loop's."""
    return await of_configs(request, (config,), MASKING, context_of(request).secrets.mask, config)


async def shown_info(request: web.Request, info: ConnectorInfo) -> dict[str, Any]:
    """Return Kafka Connect's ConnectorInfo; secrets are masked."""
    return (await shown_infos(request, [info]))[0]


async def shown_infos(request: web.Request, infos: Sequence[ConnectorInfo]) -> list[dict[str, Any]]:
    """Return ConnectorInfos of several connectors; many or large ones are masked on another thread."""
    secrets = context_of(request).secrets

    def shown() -> list[dict[str, Any]]:
        return [_info_json(info, secrets) for info in infos]

    return await of_configs(request, (info.config for info in infos), MASKING, shown)


def _info_json(info: ConnectorInfo, secrets: Secrets) -> dict[str, Any]:
    tasks = [{"connector": task.connector, "task": task.task} for task in info.tasks]
    return {"name": info.name, "config": secrets.mask(info.config), "tasks": tasks, "type": info.type}


def status_json(status: ConnectorStatus) -> dict[str, Any]:
    """Return Kafka Connect's ConnectorStateInfo."""
    tasks = [task_status_json(task, status.tasks[task]) for task in sorted(status.tasks)]
    return {"name": status.name, "connector": _state(status.connector), "tasks": tasks, "type": status.type}


def task_notes(status: ConnectorStatus) -> tuple[str, ...]:
    """Return the notes of running tasks on their work, each sentence once; none of these holds a task up."""
    told = (status.tasks[task].condition for task in sorted(status.tasks))
    lines = (c.reason.splitlines() for c in told if c is not None and c.waiting_for == NOTHING)
    return tuple(dict.fromkeys(line for found in lines for line in found))


def task_status_json(task: int, status: Status) -> dict[str, Any]:
    """Return a task as Kafka Connect's ConnectorStateInfo has it."""
    return {"id": task, **_state(status)}


def plugin_json(plugin: Plugin) -> dict[str, str]:
    """Return Kafka Connect's PluginInfo."""
    known = {"class": plugin.name, "type": plugin.kind.value, "version": plugin.version}
    return {key: value for key, value in known.items() if value}


def definition_json(definition: Definition) -> dict[str, Any]:
    """Return Kafka Connect's ConfigKeyInfo."""
    return {name: getattr(definition, name) for name in definition.__dataclass_fields__}


def _state(status: Status) -> dict[str, Any]:
    known = {"state": status.state.value, "worker_id": status.worker_id}
    extra = {"trace": status.trace, "version": status.version, **_condition(status.condition)}
    return known | {key: value for key, value in extra.items() if value}


def _condition(condition: Condition | None) -> dict[str, str | None]:
    """Return the members that say why no rows move; times in ISO 8601, UTC. Java has no such members."""
    if condition is None or condition.waiting_for == NOTHING:
        return {}
    return {
        "reason": condition.reason,
        "since": _iso(condition.since_ms),
        "waiting_for": condition.waiting_for,
        "retrying_since": _iso(condition.retrying_since_ms),
        "next_attempt": _iso(condition.next_attempt_ms),
    }


def _iso(epoch_ms: int | None) -> str | None:
    if epoch_ms is None:
        return None
    moment = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
