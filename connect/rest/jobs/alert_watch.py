"""Lets the leader gather the facts for alerts every few seconds, see `connect.alerts`. Other workers wait."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from aiohttp import web

from connect.alerts.alerting import Alerting
from connect.alerts.facts import Facts
from connect.api.errors import ConnectError
from connect.cluster.model.operations import Operations
from connect.cluster.model.request_errors import NotFoundError, RequestError
from connect.cluster.model.statuses import ConnectorStatus
from connect.rest.jobs.leading_terms import LeadingTerms

_LOOK_S: Final = 5.0
_JOBS_S: Final = 30.0
"""All backfills are read from Kafka only once in this many seconds, as that takes long."""
_log = logging.getLogger(__name__)
Figures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Sources:
    """Holds functions for the facts that the cluster's operations do not have.

    `peers` returns the figures of other workers, and those that did not answer. `jobs` returns all backfills; it blocks
    and may raise ConnectError. `shown` returns a status as REST shows it.
    """

    peers: Callable[[], Awaitable[tuple[Figures, Mapping[str, str]]]]
    jobs: Callable[[], Sequence[Mapping[str, Any]]]
    shown: Callable[[ConnectorStatus], Mapping[str, Any]]


class AlertWatch:
    """Gathers facts for alerts. It is owned by the event loop of the REST server; slow calls run on threads."""

    def __init__(self, operations: Operations, alerting: Alerting, terms: LeadingTerms, sources: Sources) -> None:
        self._operations = operations
        self._alerting = alerting
        self._terms = terms
        self._sources = sources
        self._jobs_due_s = 0.0

    async def run(self) -> NoReturn:
        """Gather facts again and again until cancelled. No error ends it."""
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                await self._look()
            except (ConnectError, TimeoutError) as error:
                _log.warning("What needs a person cannot be seen now: %s", error)
            except Exception:  # noqa: BLE001 - whatever it was, the next look is made
                _log.exception("What needs a person cannot be seen now.")

    async def _look(self) -> None:
        worker = self._operations.worker
        try:
            worker.require_leader()
        except RequestError:
            self._alerting.release()
            return
        if worker.is_ready:
            others, silent = await self._sources.peers()
            await asyncio.to_thread(self._tell, others, bool(silent))

    def _tell(self, others: Figures, is_silent: bool) -> None:
        # Where another worker has led, it has told what this one knew or had queued.
        self._terms.begins_anew(self._alerting.release)
        asked = self._operations
        facts = Facts(
            now_ms=time.time_ns() // 1_000_000,
            statuses={name: self._status(name) for name in asked.connectors.names()},
            overdue=asked.worker.overdue_tasks,
            figures={**others, **asked.tasks.figures()},
            jobs=self._jobs(),
        )
        self._alerting.look(facts, heard_all=not is_silent)

    def _status(self, name: str) -> Mapping[str, Any] | None:
        try:
            return self._sources.shown(self._operations.connectors.status(name))
        except NotFoundError:
            return None

    def _jobs(self) -> Sequence[Mapping[str, Any]] | None:
        """Return all backfills, or None if it is too early to read them again, or if Kafka does not answer."""
        if time.monotonic() < self._jobs_due_s:
            return None
        self._jobs_due_s = time.monotonic() + _JOBS_S
        try:
            return self._sources.jobs()
        except ConnectError as error:
            _log.warning("Backfills cannot be read for alerts: %s", error)
            return None


ALERTING: Final = web.AppKey("alerting", Alerting)
