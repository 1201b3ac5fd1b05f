"""Answers requests with `?dry_run=true`: tells what storing a configuration would do, and stores nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from aiohttp import web
from pydantic import Field

from connect.api.errors import ConnectError
from connect.cluster.model.request_errors import NotFoundError, RequestError
from connect.rest.resources.checking import GRACE_S, checked, restored, with_problems
from connect.rest.server.answers import json_answer
from connect.rest.server.author import asker_of
from connect.rest.server.context import context_of, remaining_s
from connect.rest.server.secrets import Secrets, changes
from connect.rest.server.waiting import MASKING, WaitTimeoutError, of_configs, within

DRY_RUN: Final = {
    "dry_run": Annotated[bool, Field(description="Answer 200 with a Validation, changes and the plan; store nothing.")]
}
"""Routes that `preview` answers have this query parameter."""
_NOT_PLANNED: Final[dict[str, Any]] = {"tasks": None, "new_topics": None, "plan_error": None}
"""An answer has these members where tasks and topics are unknown, as the configuration has errors."""


async def preview(request: web.Request, name: str, config: Mapping[str, str | None]) -> web.Response:
    """Answer with what `previewed` finds."""
    return json_answer(await previewed(request, name, config))


async def previewed(request: web.Request, name: str, config: Mapping[str, str | None]) -> dict[str, Any]:
    """Return a validation, `changes` against the stored configuration, and the connector's own plan; secrets are
    masked.

    If the configuration has no errors, `tasks` has the configurations of its tasks, and `new_topics` the topics that it
    names and that do not exist; `plan_error` says why these are not known.
    """
    whole, problems = await restored(request, name, config)
    infos = with_problems(await checked(request, whole), problems)
    context = context_of(request)
    try:
        stored = dict(context.operations.connectors.info(name).config)
    except NotFoundError:
        stored = {}
    wanted = {key: value for key, value in whole.items() if value is not None}
    planned = _NOT_PLANNED if infos.error_count else await _planned(request, name, wanted)
    differences = await of_configs(request, (stored, wanted), MASKING, changes, stored, wanted, context.secrets)
    return infos.as_json() | {"changes": differences} | planned


async def _planned(request: web.Request, name: str, config: Mapping[str, str]) -> dict[str, Any]:
    context = context_of(request)
    timeout_s = min(context.check_timeout_s, remaining_s(request) / 2)
    try:
        plan = await within(
            context.operations.trials.plan(name, config, timeout_s, asker_of(request)), timeout_s + GRACE_S
        )
    except (WaitTimeoutError, TimeoutError):
        return _NOT_PLANNED | {"plan_error": f"The connector's task plan was not ready in {timeout_s:.0f} s."}
    except (ConnectError, RequestError) as error:
        return _NOT_PLANNED | {"plan_error": context.secrets.hide(str(error), config)}
    classes = {key: config[key] for key in ("connector.class",) if key in config}
    tasks = [_masked(task, classes, context.secrets) for task in plan.tasks]
    topics = [context.secrets.hide(topic, config) for topic in plan.new_topics]
    return {"tasks": tasks, "new_topics": topics, "plan_error": None}


def _masked(task: Mapping[str, str], classes: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    """Mask the secrets of a task's configuration.

    `classes` adds the connector's class, as its declarations tell which keys are secret and a task need not repeat it.
    """
    shown = secrets.mask({**classes, **task})
    return {key: shown[key] for key in task}
