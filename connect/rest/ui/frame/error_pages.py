"""Turns errors below `/ui` into pages, also those that the leader or the worker's general rules have answered."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import orjson
from aiohttp import hdrs, web

from connect.rest.server.routing import JSON, Answer
from connect.rest.ui.frame.links import ROOT
from connect.rest.ui.frame.pages import HEADERS, HTML, html, rendered

_KEPT: Final = (hdrs.WWW_AUTHENTICATE, hdrs.ALLOW)
_TITLES: Final = {
    400: "This cannot be done",
    401: "Who are you?",
    403: "This is not allowed",
    404: "This is not there",
    409: "Something has changed",
    500: "This did not work",
}


@web.middleware
async def error_pages(request: web.Request, handler: Answer) -> web.StreamResponse:
    """Answer errors below `/ui` with pages, and send the headers of a page with every answer there."""
    answer = await handler(request)
    if request.path != ROOT and not request.path.startswith(f"{ROOT}/"):
        return answer
    if answer.status >= HTTPStatus.BAD_REQUEST and answer.content_type == JSON and _wants_page(request):
        answer = _page_of(request, answer)
    if not answer.prepared:
        answer.headers.update(HEADERS)
    return answer


def _wants_page(request: web.Request) -> bool:
    return HTML in request.headers.get(hdrs.ACCEPT, "")


def _page_of(request: web.Request, answer: web.StreamResponse) -> web.Response:
    body = answer.body if isinstance(answer, web.Response) else None
    message = orjson.loads(body)["message"] if isinstance(body, bytes) else ""
    title = _TITLES.get(answer.status, "This did not work")
    if answer.status == HTTPStatus.CONFLICT and request.method in {hdrs.METH_GET, hdrs.METH_HEAD}:
        title = "This cannot be shown now"  # nobody has sent a form that is older than what it changes
    values = {"title": title, "status": answer.status, "message": message}
    page = html(rendered("error.html.j2", values), answer.status)
    for name in _KEPT:
        if name in answer.headers:
            page.headers[name] = answer.headers[name]
    return page
