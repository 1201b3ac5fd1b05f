"""Shows backfill jobs with their progress at `/ui/backfills`, and pauses, resumes and cancels them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from aiohttp import web

from connect.cluster.model.request_errors import NotFoundError
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.resources.backfills import asked, has_role, jobs_shown
from connect.rest.server.context import remaining_s
from connect.rest.server.routing import Route
from connect.rest.ui.frame.forms import FORM, form_of, once_of
from connect.rest.ui.frame.links import link
from connect.rest.ui.frame.pages import HTML, may_change, page
from connect.rest.ui.screens.actions import ONCE_ONLY
from connect.rest.ui.screens.stale_forms import ANEW, required
from connect.rest.ui.views.backfills import change_of, job_line, job_page
from connect.rest.ui.views.numbers import cut

if TYPE_CHECKING:
    from connect.backfill.service import BackfillService

_ACTS: Final[Mapping[str, Callable[[BackfillService, str, float], None]]] = {
    "pause": lambda service, name, _: service.pause(name),
    "resume": lambda service, name, timeout_s: service.resume(name, timeout_s),
    "cancel": lambda service, name, _: service.cancel(name),
}
_DONE: Final[Mapping[str, str]] = {
    "pause": "The job pauses: each lane ends behind the chunk that it is writing.",
    "resume": "The job goes on, on this worker.",
    "cancel": "The job ends for good; nothing more is written.",
}


async def show(request: web.Request) -> web.Response:
    """Show every job of this cluster."""
    jobs = await jobs_shown(request)
    return page(request, "backfills.html.j2", {"nav": "backfills", "jobs": list(map(job_line, jobs))})


async def show_one(request: web.Request) -> web.Response:
    """Show a job with its chunks. HttpError 404: there is no such job."""
    name = request.query.get("name", "")
    if not name:
        raise NotFoundError("The address names no backfill.")
    job = await asked(request, lambda service: service.backfill(name), name)
    chunks = await asked(request, lambda service: service.chunks(name), name)
    done = _DONE.get(request.query.get("done", ""), "")
    may_edit = may_change(request, Role.EDITOR) and has_role(request, Role.EDITOR, job["spec"])
    values = {"nav": "backfills", "job": job_page(job, chunks), "done": done, "may_edit": may_edit}
    return page(request, "backfill.html.j2", values)


async def act(request: web.Request) -> web.Response:
    """Do what the button says, as `connect backfill` does. HttpError 409: the job's state does not allow it."""
    form = await form_of(request, names_connector=False)
    name, do = form.get("name", ""), form.get("do", "")
    if do not in _ACTS:
        raise HttpError(400, f"The form asks for {cut(do, 40)!r}, which is none of {', '.join(_ACTS)}.")
    if do == "cancel" and form.get("confirm", "") != name:
        raise HttpError(400, "To end a job for good, type its name as it is. Nothing was done.")

    async def run() -> None:
        change = change_of(await asked(request, lambda service: service.job(name), name), required(form, "seen"))
        if change:
            raise HttpError(409, f"{change} {ANEW}")
        await asked(request, lambda service: _ACTS[do](service, name, remaining_s(request)), name)

    await request.app[ONCE_ONLY].run(once_of(form), run)
    raise web.HTTPSeeOther(link("/backfill", name=name, done=do))


ROUTES = (
    Route("GET", "/ui/backfills", show, produces=HTML),
    Route("GET", "/ui/backfill", show_one, produces=HTML, names_connector=False),
    Route(
        "POST", "/ui/backfill", act, role=Role.EDITOR, body=dict[str, str], produces=HTML, consumes=FORM,
        names_connector=False,
    ),
)  # fmt: skip
