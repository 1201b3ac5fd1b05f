"""Shows a connector's dead letters at `/ui/letters`, grouped by error, and replays them, each once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.jobs.letter_jobs import LetterJobs
from connect.rest.server.context import context_of, remaining_s
from connect.rest.server.routing import Route
from connect.rest.server.state_changes import tell_change
from connect.rest.ui.frame.forms import FORM, form_of, once_of
from connect.rest.ui.frame.pages import HTML, page
from connect.rest.ui.screens.actions import ONCE_ONLY
from connect.rest.ui.screens.requested_connector import named
from connect.rest.ui.screens.stale_forms import check_seen, version_of
from connect.rest.ui.views.numbers import cut

_TOPIC_KEY: Final = "errors.deadletterqueue.topic.name"
_READ_S: Final = 30.0
_PLACE: Final = re.compile(r"(\d{1,10}:\d{1,19})?", re.ASCII)
WHY_CHARS: Final = 600
LETTER_JOBS: Final = web.AppKey("letter_jobs", LetterJobs)


async def show(request: web.Request) -> web.Response:
    """Show the dead letters of a connector, the newest first. NotFoundError: there is no such connector."""
    return await _page(request, named(request), None)


async def replay(request: web.Request) -> web.Response:
    """Tell what a replay would do, or replay each letter once. A second click shows what the first one did.

    HttpError 409: the connector was changed after the page was loaded, or another replay has begun.
    """
    form = await form_of(request)
    name, (do, _, place) = form.get("name", ""), form.get("do", "").partition(" ")
    if do not in {"try", "replay"} or not _PLACE.fullmatch(place):
        raise HttpError(400, "The form asks neither to try nor to replay letters.")
    topic = _topic(request, name)
    if not topic:
        raise HttpError(
            409,
            f"Connector {name} has no {_TOPIC_KEY} any more. Nothing was done. Give it the topic again on its page "
            "Edit, or replay the topic's letters by `connect dlq replay`.",
        )
    asked = _asked(name, topic, do) | ({"places": [place]} if place else {})
    outcome: Mapping[str, Any]
    if do == "try":
        outcome = await request.app[LETTER_JOBS].ask(asked, remaining_s(request))
    else:
        context = context_of(request)
        check_seen(context.operations, context.secrets, name, form)
        outcome = await request.app[ONCE_ONLY].run(once_of(form), lambda: _replayed(request, asked))
    return await _page(request, name, {"is_trial": do == "try", **outcome})


async def _replayed(request: web.Request, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    outcome = await request.app[LETTER_JOBS].ask(asked, remaining_s(request))
    told = {"replayed": outcome["before"]}, {"replayed": outcome["before"] + outcome["replayed"]}
    tell_change(request, asked["connector"], "letters", *told)
    shown = [one | {"why": cut(one["why"], WHY_CHARS)} for one in outcome["refused"]]
    return {
        **outcome,
        "refused": shown,
    }  # the outcome is kept for a second click, so it has only the texts that a page shows


async def _page(request: web.Request, name: str, outcome: Mapping[str, Any] | None) -> web.Response:
    topic = _topic(request, name)
    found: Mapping[str, Any] = {"summary": [], "letters": [], "count": 0}
    if topic:
        found = await request.app[LETTER_JOBS].ask(_asked(name, topic, "list"), min(_READ_S, remaining_s(request)))
    context = context_of(request)
    values = {
        "name": name, "nav": "", "tab": "letters", "topic": topic, "found": found, "outcome": outcome,
        "seen": version_of(context.operations, context.secrets, name), "why_chars": WHY_CHARS,
    }  # fmt: skip
    return page(request, "letters.html.j2", values)


def _topic(request: web.Request, name: str) -> str:
    return context_of(request).operations.connectors.info(name).config.get(_TOPIC_KEY, "").strip()


def _asked(name: str, topic: str, do: str) -> dict[str, Any]:
    return {"do": do, "topic": topic, "connector": name}


ROUTES = (
    Route("GET", "/ui/letters", show, role=Role.OPERATOR, produces=HTML),
    Route("POST", "/ui/letters", replay, role=Role.OPERATOR, body=dict[str, str], produces=HTML, consumes=FORM),
)
