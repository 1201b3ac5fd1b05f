"""Serves `/connectors/{name}/history` and `/connectors/{name}/rollback/{version}`: old configurations and states, and a
way back to an old configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from aiohttp import web

from connect.cluster.model.history import ConfigVersion, Rebalance, StateChange
from connect.cluster.model.request_errors import NotFoundError
from connect.rest.access.role import Role
from connect.rest.resources.checking import ready
from connect.rest.resources.own_shapes import History
from connect.rest.resources.preview import DRY_RUN, preview
from connect.rest.resources.shapes import Connector, Validation
from connect.rest.server.answers import json_answer, shown_info
from connect.rest.server.author import who
from connect.rest.server.context import context_of
from connect.rest.server.routing import Route, flag, name_of, segment
from connect.rest.server.secrets import Secrets, changes_between
from connect.rest.server.waiting import MASKING, finished, of_configs


async def get_history(request: web.Request) -> web.Response:
    """Versions of the configuration with what each changed, states, rebalances; oldest first, secrets are masked."""
    context, name = context_of(request), name_of(request)
    versions = context.operations.history.config_versions(name)
    return json_answer(
        {
            "name": name,
            "configs": await of_configs(
                request, (one.config for one in versions), MASKING, _versions, versions, context.secrets
            ),
            "states": [_state_json(change) for change in context.operations.history.state_changes(name)],
            "rebalances": [_rebalance_json(rebalance) for rebalance in context.operations.history.rebalances()],
        }
    )


async def rollback(request: web.Request) -> web.Response:
    """Store an old version of the configuration again, as a new version; with `dry_run=true` say what that changes."""
    context, name = context_of(request), name_of(request)
    context.operations.worker.require_leader()
    config = version_called(context.operations.history.config_versions(name), name, segment(request, 4)).config
    present = context.operations.connectors.info(name).config
    if flag(request, "dry_run"):
        return await preview(request, name, dict(config))
    wanted = await ready(request, name, dict(config))
    # Somebody may delete or change it during the validation: it is not brought back, nor is that change undone unseen.
    saving = context.operations.connectors.save(name, wanted, who(request), instead_of=present)
    saved = await finished(request, saving)
    return json_answer(await shown_info(request, saved.info))


def version_called(versions: Sequence[ConfigVersion], name: str, text: str) -> ConfigVersion:
    """Return the version of a connector that has this number. NotFoundError names the versions that there are."""
    for version in versions:
        if str(version.version) == text:
            return version
    known = ", ".join(str(version.version) for version in versions)
    raise NotFoundError(f"Connector {name} has no version {text}. The versions kept are {known}.")


def _versions(versions: Sequence[ConfigVersion], secrets: Secrets) -> list[dict[str, Any]]:
    shown = [secrets.mask(version.config) for version in versions]
    return [
        {
            "version": version.version,
            "changed_ms": None if version.author is None else version.author.changed_ms,
            "who": None if version.author is None else version.author.who,
            "config": config,
            "changes": difference,
        }
        for version, config, difference in zip(versions, shown, changes_of_each(versions, shown), strict=True)
    ]


def changes_of_each(
    versions: Sequence[ConfigVersion], shown: Sequence[Mapping[str, str]]
) -> list[dict[str, Any] | None]:
    """Return what each version changed against the one before, by the configurations as they are shown; None for the
    first.
    """
    pairs = pairwise(zip(versions, shown, strict=True))
    return [None, *(changes_between(a.config, b.config, before, after) for (a, before), (b, after) in pairs)]


def _state_json(change: StateChange) -> dict[str, Any]:
    return {
        "task": change.task,
        "state": change.status.state.value,
        "worker_id": change.status.worker_id,
        "trace": change.status.trace,
        "changed_ms": change.changed_ms,
    }


def _rebalance_json(rebalance: Rebalance) -> dict[str, Any]:
    return {
        "generation": rebalance.generation,
        "leader": rebalance.leader,
        "workers": list(rebalance.workers),
        "changed_ms": rebalance.changed_ms,
    }


ROUTES = (
    Route("GET", "/connectors/{name}/history", get_history, answers={200: History}),
    Route(
        "PUT", "/connectors/{name}/rollback/{version}", rollback, role=Role.EDITOR,
        answers={200: Connector | Validation}, flags=["dry_run"], query=DRY_RUN,
    ),
)  # fmt: skip
