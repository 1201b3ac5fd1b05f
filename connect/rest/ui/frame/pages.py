"""Fills in the template of a page, and sends it with headers that keep it to itself."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs, web

from connect.rest.server.context import context_of
from connect.rest.ui.frame.assets import asset_url
from connect.rest.ui.frame.forms import FIELD, keep_token, token_of
from connect.rest.ui.frame.links import link
from connect.rest.ui.views.numbers import FILTERS
from connect.telemetry.html_pages import templates_of

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

HTML: Final = "text/html"
_POLICY: Final = "; ".join(
    (
        "default-src 'none'", "style-src 'self'", "script-src 'self'", "img-src 'self' data:", "connect-src 'self'",
        "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'",
    )
)  # fmt: skip
HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def page(request: web.Request, template: str, values: Mapping[str, Any], status: int = 200) -> web.Response:
    """Return a page with the form token of its reader."""
    context = context_of(request)
    about = {
        "token": token_of(request), "token_field": FIELD, "once": secrets.token_urlsafe(12),
        "may_change": context.worker.rest_ui == "on",
        "worker_id": context.worker_id, "version": context.commit,
        "cluster_id": context.operations.worker.kafka_cluster_id,
    }  # fmt: skip
    response = html(rendered(template, about | dict(values)), status)
    keep_token(request, response)
    return response


def html(text: str, status: int = 200) -> web.Response:
    """Return a page that no cache keeps."""
    response = web.Response(text=text, status=status, content_type=HTML, charset="utf-8")
    response.headers[hdrs.CACHE_CONTROL] = "no-store"
    return response


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """Return a template filled in; every value is escaped."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    from jinja2 import StrictUndefined

    environment = templates_of("connect.rest.ui").overlay(undefined=StrictUndefined)
    environment.filters |= {**FILTERS, "exact": _exact}
    environment.globals |= {"asset": asset_url, "link": link}
    return environment


def _exact(value: str) -> Markup:
    """Return a field's value escaped and otherwise as it is: what is sent back has to be what was given."""
    from markupsafe import escape

    return escape(value)
