"""Shows the evaluations of this worker at `/ui/reports`, with links to their reports."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from connect.rest.resources.poc import JOBS
from connect.rest.server.rights import visible
from connect.rest.server.routing import Route
from connect.rest.ui.frame.pages import HTML, page
from connect.rest.ui.views.numbers import cut

_SAID: Final = 20


async def show(request: web.Request) -> web.Response:
    """Show running and finished evaluations, the newest first; a worker remembers the last ten."""
    jobs = [
        {
            "id": job.id, "state": job.state, "said": [cut(text, 300) for text in job.said[-_SAID:]],
            "error": cut(str((job.answer or {}).get("error") or ""), 2000),
            "verdict": str(((job.answer or {}).get("result") or {}).get("verdict", "")),
            "has_report": "report" in (job.answer or {}),
        }
        for job in reversed(request.app[JOBS].jobs())
        if len(visible(request, job.connectors)) == len(job.connectors)
    ]  # fmt: skip
    return page(request, "reports.html.j2", {"nav": "reports", "jobs": jobs})


ROUTES = (Route("GET", "/ui/reports", show, produces=HTML),)
