"""Lists the routes of the web UI, and holds what its screens share while a worker serves it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

from connect.rest.jobs.letter_jobs import LetterJobs
from connect.rest.server.context import CONTEXT
from connect.rest.server.routing import Route
from connect.rest.ui.frame import assets
from connect.rest.ui.frame.forms import OnceOnly
from connect.rest.ui.live import stream
from connect.rest.ui.live.offsets_seen import OFFSETS_SEEN, OffsetsSeen
from connect.rest.ui.screens import (
    actions,
    backfills,
    connector,
    doctor,
    edit,
    flow,
    history,
    letters,
    offsets,
    overview,
    plugins,
    reports,
    sample,
)
from connect.rest.ui.screens.actions import ONCE_ONLY
from connect.rest.ui.screens.letters import LETTER_JOBS

ROUTES: Final[tuple[Route, ...]] = tuple(
    route
    for part in (
        overview,
        flow,
        doctor,
        connector,
        actions,
        edit,
        offsets,
        letters,
        sample,
        history,
        plugins,
        backfills,
        reports,
        assets,
    )
    for route in part.ROUTES
)


async def shared(app: web.Application) -> AsyncIterator[None]:
    """Hold what the screens share as long as the application is served."""
    context = app[CONTEXT]
    app[OFFSETS_SEEN] = OffsetsSeen(context.operations.offsets)
    app[ONCE_ONLY] = OnceOnly()
    app[LETTER_JOBS] = LetterJobs(context.worker.originals)
    stream.prepare(app)
    yield
