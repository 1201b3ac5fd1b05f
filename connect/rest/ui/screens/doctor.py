"""Shows at `/ui/doctor` the findings of `connect doctor` about this worker and its connectors."""

from __future__ import annotations

from collections import Counter
from typing import Final

from aiohttp import web

from connect.doctor.model.findings import Severity
from connect.rest.resources.doctor import examined_cluster
from connect.rest.server.routing import Route
from connect.rest.ui.frame.pages import HTML, page
from connect.rest.ui.views.states import StateSign

_SIGNS: Final = {
    Severity.ERROR: StateSign("✕", "bad"),
    Severity.WARNING: StateSign("!", "odd"),
    Severity.NOTE: StateSign("i", "still"),
}


async def show(request: web.Request) -> web.Response:
    """Examine the cluster now, and show the findings, the worst first."""
    found = await examined_cluster(request)
    counts = Counter(finding.severity for finding in found)
    values = {
        "nav": "doctor", "found": [finding.as_json() for finding in found], "sign": _SIGNS.__getitem__,
        "counts": [(str(severity), counts[severity]) for severity in Severity],
    }  # fmt: skip
    return page(request, "doctor.html.j2", values)


ROUTES = (Route("GET", "/ui/doctor", show, produces=HTML),)
