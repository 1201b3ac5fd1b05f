"""`?dry_run=true`: what storing a configuration would do, without storing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from connect.cluster.operations import NotFoundError
from connect.rest.answers import json_answer
from connect.rest.checking import checked, restored, with_problems
from connect.rest.context import context_of
from connect.rest.secrets import Secrets


async def preview(request: web.Request, name: str, config: Mapping[str, str | None]) -> web.Response:
    """The answer of validation, and `changes` against what is stored; secrets are masked on both sides."""
    whole, problems = await restored(request, name, config)
    infos = with_problems(await checked(request, whole), problems)
    context = context_of(request)
    try:
        stored = dict(context.operations.info(name).config)
    except NotFoundError:
        stored = {}
    wanted = {key: value for key, value in whole.items() if value is not None}
    return json_answer(infos.as_json() | {"changes": changes(stored, wanted, context.secrets)})


def changes(stored: Mapping[str, str], wanted: Mapping[str, str], secrets: Secrets) -> dict[str, Any]:
    """`{"added": {key: value}, "changed": {key: {"from", "to"}}, "removed": {key: value}}`, by key."""
    before, after = secrets.mask(stored), secrets.mask(wanted)
    return {
        "added": {key: after[key] for key in sorted(wanted.keys() - stored.keys())},
        "changed": {
            key: {"from": before[key], "to": after[key]}
            for key in sorted(wanted.keys() & stored.keys())
            if wanted[key] != stored[key]
        },
        "removed": {key: before[key] for key in sorted(stored.keys() - wanted.keys())},
    }
