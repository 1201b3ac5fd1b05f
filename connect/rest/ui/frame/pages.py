"""Fills in the template of a page, and sends it with headers by which browsers shield it from other sites."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs, web

from connect.rest.access.role import Role
from connect.rest.server.context import context_of
from connect.rest.server.rights import IDENTITY
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
    """Return a page. Its forms have the token that allows its reader to send them."""
    context, name = context_of(request), values.get("name", "")
    about = {
        "token": token_of(request), "token_field": FIELD, "once": secrets.token_urlsafe(12),
        "is_read_only": context.worker.rest_ui != "on", "may_create": may_change(request, Role.EDITOR),
        "may_operate": may_change(request, Role.OPERATOR, name), "may_edit": may_change(request, Role.EDITOR, name),
        "may_read_rows": request[IDENTITY].may(Role.OPERATOR, name),
        "worker_id": context.worker_id, "version": context.commit,
        "cluster_id": context.operations.worker.kafka_cluster_id,
    }  # fmt: skip
    response = html(rendered(template, about | dict(values)), status)
    keep_token(request, response)
    return response


def may_change(request: web.Request, role: Role, connector: str = "") -> bool:
    """Return True if pages may change things, and the reader has the role at the connector, or without a connector at
    any.
    """
    if context_of(request).worker.rest_ui != "on":
        return False
    identity = request[IDENTITY]
    return identity.may(role, connector) if connector else identity.may_somewhere(role)


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
    """Return the value of a form's field, escaped but otherwise unchanged, so that the browser sends back what was
    given.
    """
    from markupsafe import escape

    return escape(value)
