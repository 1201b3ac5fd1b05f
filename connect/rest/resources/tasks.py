"""Serves `/connectors/{name}/tasks…`."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from connect.cluster.model.request_errors import NotFoundError
from connect.rest.access.role import Role
from connect.rest.resources.shapes import TaskConfig, TaskState
from connect.rest.server.answers import empty_answer, json_answer, task_status_json
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route, name_of, task_of
from connect.rest.server.waiting import MASKING, finished, of_configs
from connect.runtime.task.task_id import TaskId


async def list_tasks(request: web.Request) -> web.Response:
    """The tasks of a connector with their configurations; secrets are masked."""
    context, name = context_of(request), name_of(request)
    configs = context.operations.tasks.configs(name)

    def shown() -> list[dict[str, Any]]:
        return [
            {"id": {"connector": name, "task": task}, "config": context.secrets.mask(configs[task])}
            for task in sorted(configs)
        ]

    return json_answer(await of_configs(request, configs.values(), MASKING, shown))


async def task_status(request: web.Request) -> web.Response:
    """Return the state of one task."""
    name, task = name_of(request), task_of(request)
    missing = NotFoundError(f"No status found for task {name}-{task}")
    try:
        found = context_of(request).operations.connectors.status(name).tasks.get(task)
    except NotFoundError:
        raise missing from None
    if found is None:
        raise missing
    return json_answer(task_status_json(task, found))


async def restart_task(request: web.Request) -> web.Response:
    """Restart one task."""
    task = TaskId(name_of(request), task_of(request))
    await finished(request, context_of(request).operations.tasks.restart(task), f"restarting task {task}")
    return empty_answer(204)


ROUTES = (
    Route("GET", "/connectors/{name}/tasks", list_tasks, answers={200: list[TaskConfig]}),
    Route("GET", "/connectors/{name}/tasks/{task}/status", task_status, answers={200: TaskState}),
    Route("POST", "/connectors/{name}/tasks/{task}/restart", restart_task, role=Role.OPERATOR, answers={204: None}),
)
