"""Serves `/poc…`: tries on this worker if a connector fits a user's data, as `connect poc` does.

Kafka Connect has no such resource.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

from aiohttp import web

from connect.rest.access.config_bounds import check_config, check_new_name
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.jobs.evaluation_jobs import EvaluationJob, EvaluationJobs
from connect.rest.resources.own_shapes import Evaluation, EvaluationWanted
from connect.rest.server.answers import json_answer
from connect.rest.server.context import CONTEXT
from connect.rest.server.json_body import NumberText, read_own_json
from connect.rest.server.rights import require
from connect.rest.server.routing import Route, segment

JOBS: Final = web.AppKey("evaluations", EvaluationJobs)
NUMBERS: Final[Mapping[str, tuple[Callable[[str], float], float]]] = {
    "sample_rows": (int, 1e6), "duration_s": (float, 3600), "crashes": (int, 100), "budget_rows": (int, 1e9),
    "seed": (int, 2**63),
}  # fmt: skip
"""Each option that is a number has a function that reads it, and the largest value that is allowed."""
CONNECTORS_MAX: Final = 2
FLAGS: Final = ("show_values",)
_USAGE: Final = 'Write {"connectors": [{"name": "…", "config": {…}}], "options": {"sample_rows": 10000}}.'


async def start_evaluation(request: web.Request) -> web.Response:
    """Begin an evaluation of a connector, or of a source and the sink of its topics."""
    connectors, options = checked_body(await read_own_json(request))
    require(request, *(one["name"] for one in connectors))
    job = await asyncio.to_thread(request.app[JOBS].start, connectors, options)
    return json_answer(job.shown(), 202)


async def get_evaluation(request: web.Request) -> web.Response:
    """The progress of an evaluation, and its result once it is over."""
    return json_answer(_job(request).shown())


async def get_evaluation_report(request: web.Request) -> web.Response:
    """Return the report of an evaluation, as one HTML file."""
    job = _job(request)
    if job.answer is None or "report" not in job.answer:
        fix = "Wait until it is DONE." if job.answer is None else "Ask for it again once its error is mended."
        raise HttpError(409, f"Evaluation {job.id} is {job.state}: there is no report. {fix}")
    return web.Response(text=str(job.answer["report"]), content_type="text/html", charset="utf-8")


def _job(request: web.Request) -> EvaluationJob:
    """Return the evaluation that a path names. NotFoundError: there is none. HttpError 403: the sender lacks the role
    at its connectors.
    """
    job = request.app[JOBS].job(segment(request, 2))
    require(request, *job.connectors)
    return job


def checked_body(body: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the connectors and options of a request's body. HttpError 400 names what is wrong. Pure."""
    if not isinstance(body, dict) or not isinstance(body.get("connectors"), list) or not body["connectors"]:
        raise HttpError(400, f"The body names no connectors. {_USAGE}")
    if len(body["connectors"]) > CONNECTORS_MAX:
        raise HttpError(400, f"The body names {len(body['connectors'])} connectors: a source and a sink at most.")
    options = body.get("options") or {}
    if not isinstance(options, dict) or set(body) - {"connectors", "options"}:
        raise HttpError(400, f"The body has other members. {_USAGE}")
    connectors = [_connector(one) for one in body["connectors"]]
    return connectors, dict(_option(name, value) for name, value in options.items())


def _connector(given: Any) -> dict[str, Any]:
    config = given.get("config") if isinstance(given, dict) else None
    name = given.get("name") if isinstance(given, dict) else None
    if not isinstance(config, dict) or not isinstance(name, str) or isinstance(name, NumberText):
        raise HttpError(400, f"A connector has a name and a config. {_USAGE}")
    texts = {str(k): str(v) for k, v in config.items() if v is not None}
    check_config(texts)
    check_new_name(name)
    return {"name": name, "config": texts}


def _option(name: str, value: Any) -> tuple[str, Any]:
    if name in FLAGS and isinstance(value, bool):
        return name, value
    if name in NUMBERS and isinstance(value, NumberText):
        read, most = NUMBERS[name]
        try:
            number = read(value)
        except ValueError:
            number = -1
        if number > most:
            raise HttpError(400, f"Option {name} is larger than {most:.0f}.")
        if number >= 0:
            return name, number
    known = ", ".join((*NUMBERS, *FLAGS))
    raise HttpError(400, f"Option {name} is unknown or has a value of another kind. Known are {known}.")


async def evaluation_jobs(app: web.Application) -> AsyncIterator[None]:
    """Hold the evaluations as long as the application is served."""
    app[JOBS] = EvaluationJobs(app[CONTEXT].worker.originals)
    yield
    await asyncio.to_thread(app[JOBS].close)


ROUTES = (
    Route("POST", "/poc", start_evaluation, role=Role.EDITOR, body=EvaluationWanted, answers={202: Evaluation}),
    Route("GET", "/poc/{id}", get_evaluation, answers={200: Evaluation}),
    Route("GET", "/poc/{id}/report", get_evaluation_report, produces="text/html", answers={200: str}),
)
