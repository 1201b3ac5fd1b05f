"""Serves `/backfills…`: jobs that copy sources in bulk, each in a process of the worker that is asked.

Kafka Connect has no such resource.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aiohttp import web

from connect.api.errors import ConnectError
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.operations import Operations
from connect.cluster.model.request_errors import NotFoundError, RequestError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.figures.backfill_figures import shown_jobs
from connect.rest.figures.leader_watch import LeaderWatch
from connect.rest.jobs.backfill_watch import BackfillWatch
from connect.rest.resources.own_shapes import (
    Backfill,
    BackfillChunk,
    BackfillLimits,
    BackfillProgress,
    BackfillSpec,
    BackfillVerdict,
    UnreadableBackfill,
)
from connect.rest.server.answers import empty_answer, json_answer
from connect.rest.server.context import CONTEXT, context_of, remaining_s
from connect.rest.server.json_body import read_own_json
from connect.rest.server.rights import ASKED, IDENTITY, require, require_everywhere
from connect.rest.server.routing import Route, flag, name_of
from connect.runtime.settings.internal_topics import JOBS_TOPIC
from connect.runtime.settings.worker_config import WorkerConfig

if TYPE_CHECKING:
    from connect.backfill.service import BackfillService

T = TypeVar("T")
_ADOPT_S: Final = 120.0
_KAFKA_S: Final = 5.0
_FOLLOWED: Final = 10
"""The overview of backfills has the progress of this many jobs only, as Kafka is asked for each."""


async def get_backfills(request: web.Request) -> web.Response:
    """Every backfill job whose connectors the sender may view."""
    return json_answer(await jobs_shown(request))


async def create_backfill(request: web.Request) -> web.Response:
    """Plan a job and run it on this worker; the body is its spec as JSON."""
    body = await read_own_json(request)
    if not isinstance(body, dict):
        raise HttpError(400, "The body is no backfill spec: write an object, as in configs/backfill/.")
    _require(request, body)
    name = str(body.get("name", ""))
    return json_answer(await asked(request, lambda s: s.start(body, remaining_s(request)), name), 201)


async def get_backfill(request: web.Request) -> web.Response:
    """Return a job, its progress and the limits that count now."""
    return json_answer(await asked(request, lambda service: service.backfill(name_of(request))))


async def get_chunks(request: web.Request) -> web.Response:
    """The chunks of a job, and how far each is."""
    return json_answer(await asked(request, lambda service: service.chunks(name_of(request))))


async def pause_backfill(request: web.Request) -> web.Response:
    """Let every lane end behind the chunk it is writing."""
    await asked(request, lambda service: service.pause(name_of(request)))
    return empty_answer(202)


async def resume_backfill(request: web.Request) -> web.Response:
    """Go on with a job on this worker, which takes it over where another one runs it."""
    await asked(request, lambda service: service.resume(name_of(request), remaining_s(request)))
    return empty_answer(202)


async def limit_backfill(request: web.Request) -> web.Response:
    """Let a job go faster or slower from now on; the body has some of its limits."""
    body = await read_own_json(request)
    if not isinstance(body, dict):
        raise HttpError(400, 'The body has no limits: write an object, as {"max_rows_per_second": 1000}.')
    return json_answer(await asked(request, lambda service: service.limit(name_of(request), body)))


async def cancel_backfill(request: web.Request) -> web.Response:
    """End a job for good; nothing more is written."""
    await asked(request, lambda service: service.cancel(name_of(request)))
    return empty_answer(202)


async def verify_backfill(request: web.Request) -> web.Response:
    """Read the topics of a job again and compare."""
    return json_answer(await asked(request, lambda s: s.verify(name_of(request), remaining_s(request))))


async def hand_over_backfill(request: web.Request) -> web.Response:
    """Write the connector's offsets where following begins, and resume it; `force`: also where verify found fault."""
    cluster, is_forced = _OwnCluster(context_of(request).operations, remaining_s(request)), flag(request, "force")
    await asked(request, lambda s: s.hand_over(name_of(request), cluster, remaining_s(request), is_forced=is_forced))
    return empty_answer(202)


class _OwnCluster:
    """Gives a handover the connectors of this worker's cluster. It is used from a thread that may wait."""

    def __init__(self, operations: Operations, timeout_s: float) -> None:
        self._operations = operations
        self._timeout_s = timeout_s

    def standing(self, name: str) -> tuple[str, int] | None:
        """Return a connector's state and its number of tasks by the cluster's own status; None when there is no such
        connector.
        """
        try:
            status = self._operations.connectors.status(name)
        except NotFoundError:
            return None
        return status.connector.state.value, len(status.tasks)

    def resume(self, name: str) -> None:
        """Let a connector run. If only the leader may do it, the error that says so has the leader answer the whole
        request.
        """
        self._operations.connectors.set_target(name, TargetState.STARTED).result(self._timeout_s)


class _Service:
    """Makes the service with the first request for it: most workers run no backfill, and start without its modules."""

    def __init__(self, worker: WorkerConfig, worker_id: str) -> None:
        self._worker = worker
        self._worker_id = worker_id
        self._made: BackfillService | None = None
        self._making = threading.Lock()  # Requests are answered on several threads.

    def answer(self, ask: Callable[[BackfillService], T]) -> T:
        """Return what the service answers. HttpError 404: there is no such job; 409: its state does not allow it."""
        from connect.backfill.job.states import JobStateError
        from connect.backfill.service import NoSuchBackfillError

        try:
            return ask(self._service())
        except NoSuchBackfillError as error:
            raise HttpError(404, str(error)) from error
        except JobStateError as error:
            raise HttpError(409, str(error)) from error

    def adopt(self, alive: Collection[str] | None) -> Mapping[str, str]:
        """Go on with jobs whose workers are no longer in the cluster; see `BackfillService.adopt`."""
        return self._service().adopt(alive, _ADOPT_S) if self._are_there() else {}

    def jobs(self) -> list[dict[str, Any]]:
        """Return every job of the cluster; see `BackfillService.backfills`."""
        return self._service().backfills() if self._are_there() else []

    def progress(self, jobs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return these jobs, the first few with their progress; a job has none if Kafka does not tell it now."""
        return [self._progress(job) if number < _FOLLOWED else job for number, job in enumerate(jobs)]

    def _progress(self, job: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return self.answer(lambda service: service.backfill(job["name"]))
        except (ConnectError, RequestError):
            return job  # the job has just ended, or Kafka does not tell its progress

    def _are_there(self) -> bool:
        """Return True if somebody has ever begun a job on these brokers."""
        admin = TopicAdmin(admin_settings(self._worker.originals, {}, "connect-backfill-watch").properties)
        return bool(admin.partition_counts([JOBS_TOPIC], Deadline.after(_KAFKA_S)))

    @property
    def has_died(self) -> bool:
        """Return True if a process of this worker has ended before its job did."""
        return self._made is not None and self._made.has_died

    def close(self) -> None:
        """End the processes of the jobs that this worker runs."""
        if self._made is not None:
            self._made.close()

    def _service(self) -> BackfillService:
        from connect.backfill.child import BackfillChildren
        from connect.backfill.service import BackfillService

        with self._making:
            if self._made is None:
                worker = self._worker
                children = BackfillChildren(worker.originals, self._worker_id, worker.backfill_jobs_max)
                self._made = BackfillService(worker, children)
        return self._made


BACKFILLS: Final = web.AppKey("backfills", _Service)
BACKFILL_WATCH: Final = web.AppKey("backfill_watch", LeaderWatch[Sequence[Mapping[str, Any]]])
"""Holds the jobs that metrics tell of, as the leader saw them last. It is empty on other workers."""


async def backfill_service(app: web.Application) -> AsyncIterator[None]:
    """Hold the service as long as the application is served, and let it go on with the jobs of workers that have
    died.
    """
    context = app[CONTEXT]
    service = app[BACKFILLS] = _Service(context.worker, context.worker_id)
    asked = context.operations
    watch = BackfillWatch(asked.worker, asked.history, service.adopt, lambda: service.has_died)
    looks = app[BACKFILL_WATCH] = LeaderWatch[Sequence[Mapping[str, Any]]](
        asked.worker,
        lambda: service.progress(sorted(shown_jobs(service.jobs(), time.time_ns() // 1_000_000), key=_is_still)),
        nothing=(),
        trouble="How far backfills are cannot be seen now.",
    )
    watching = [asyncio.create_task(watch.run()), asyncio.create_task(looks.run())]
    yield
    for one in watching:
        one.cancel()
    await asyncio.wait(watching)
    await asyncio.to_thread(service.close)


def _is_still(job: Mapping[str, Any]) -> bool:
    return bool(job["state"] != "RUNNING")


def _connectors_of(spec: Mapping[str, Any]) -> list[str] | None:
    """Return the connectors that a spec names.

    Return None if the job may concern any connector, as the spec has connectors' configurations in it, or names no
    connector.
    """
    parts = [part for key in ("source", "target") if isinstance(part := spec.get(key), Mapping)]
    names = [str(part["connector"]) for part in parts if part.get("connector")]
    return names if names and not any(part.get("config") for part in parts) else None


def has_role(request: web.Request, role: Role, spec: Mapping[str, Any]) -> bool:
    """Return True if the sender has a role at all connectors of a job."""
    names, identity = _connectors_of(spec), request[IDENTITY]
    return identity.may_everywhere(role) if names is None else all(identity.may(role, name) for name in names)


def _require(request: web.Request, spec: Mapping[str, Any]) -> None:
    names = _connectors_of(spec)
    if names is None:
        require_everywhere(request)
    else:
        require(request, *names)


async def jobs_shown(request: web.Request) -> list[dict[str, Any]]:
    """Return every backfill job whose connectors the sender may view."""
    found = await _any(request, lambda service: service.backfills())
    if request[IDENTITY].may_everywhere(Role.VIEWER):
        return found
    return [job for job in found if "spec" in job and has_role(request, Role.VIEWER, job["spec"])]


async def asked(request: web.Request, ask: Callable[[BackfillService], T], name: str | None = None) -> T:
    """Ask about the job that `name` or else the request's path names, if the sender has the route's role at its
    connectors.
    """
    if not request[IDENTITY].may_everywhere(request[ASKED]):
        wanted = name_of(request) if name is None else name
        for job in await _any(request, lambda service: service.backfills()):
            if job["name"] == wanted:
                _require(request, job.get("spec", {}))
    return await _any(request, ask)


async def _any(request: web.Request, ask: Callable[[BackfillService], T]) -> T:
    """Ask the service on another thread, as it waits for Kafka."""
    return await asyncio.to_thread(request.app[BACKFILLS].answer, ask)


ROUTES = (
    Route("GET", "/backfills", get_backfills, answers={200: list[Backfill | UnreadableBackfill]}),
    Route("POST", "/backfills", create_backfill, role=Role.EDITOR, body=BackfillSpec, answers={201: Backfill}),
    Route("GET", "/backfills/{name}", get_backfill, answers={200: BackfillProgress}),
    Route(
        "PATCH",
        "/backfills/{name}/limits",
        limit_backfill,
        role=Role.EDITOR,
        body=BackfillLimits,
        answers={200: BackfillLimits},
    ),
    Route("GET", "/backfills/{name}/chunks", get_chunks, answers={200: list[BackfillChunk]}),
    Route("PUT", "/backfills/{name}/pause", pause_backfill, role=Role.EDITOR, answers={202: None}),
    Route("PUT", "/backfills/{name}/resume", resume_backfill, role=Role.EDITOR, answers={202: None}),
    Route("PUT", "/backfills/{name}/cancel", cancel_backfill, role=Role.EDITOR, answers={202: None}),
    Route("POST", "/backfills/{name}/verify", verify_backfill, role=Role.EDITOR, answers={200: BackfillVerdict}),
    Route(
        "POST",
        "/backfills/{name}/handover",
        hand_over_backfill,
        role=Role.EDITOR,
        answers={202: None},
        flags=("force",),
    ),
)
