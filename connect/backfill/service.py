"""Offers a worker's backfills over REST. Every method blocks, so it has to be called from a thread."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any, Final

from connect.api.errors import ConfigError, ConnectError
from connect.backfill.child import BackfillChildren
from connect.backfill.driver import Driver, state_topics
from connect.backfill.handover import Connectors, require_no_bad_verdict, require_stopped
from connect.backfill.job.chunk import Signal
from connect.backfill.job.job import Job, Jobs
from connect.backfill.job.job_store import JobStore, StateTopics
from connect.backfill.job.markers import ChunkState, chunk_states
from connect.backfill.job.oversized_chunks import placed_chunks
from connect.backfill.job.progress import Watch
from connect.backfill.job.request_bounds import check_bounds, within_bounds
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobAction
from connect.backfill.job.stored_spec import checked, runnable, without_choices, without_secrets
from connect.lib.deadline import Deadline
from connect.runtime.settings.internal_topics import JOBS_TOPIC
from connect.runtime.settings.worker_config import WorkerConfig

_log = logging.getLogger(__name__)
_KAFKA_S: Final = 30.0
_ADOPTIONS: Final = 4
"""So many jobs are taken over at a time, so that one that does not answer does not keep all others waiting."""


class NoSuchBackfillError(ConnectError):
    """Says that there is no job of that name."""


class BackfillService:
    """Starts, shows and changes backfills. Owned by the REST server; may be used from any thread."""

    def __init__(self, worker: WorkerConfig, children: BackfillChildren) -> None:
        self._worker = worker
        self._children = children
        self._not_adopted: Mapping[str, str] = {}

    def backfills(self) -> list[dict[str, Any]]:
        """Return every job of this cluster in the default jobs topic, by name; of unreadable ones the name and reason.

        A job without an owner was written by a release that knew none, and may belong to any cluster.
        """
        found = self._jobs()
        own = [job for _, job in sorted(found.jobs.items()) if job.group in {"", self._worker.group_id}]
        unreadable = sorted(found.unreadable_to(self._worker.group_id).items())
        return [*(self._shown(job) for job in own), *({"name": name, "unreadable": why} for name, why in unreadable)]

    def job(self, name: str) -> dict[str, Any]:
        """Return a job as `backfills` shows it. NoSuchBackfillError: there is none of that name."""
        return self._shown(self._job(name))

    def backfill(self, name: str) -> dict[str, Any]:
        """Return a job, how far it is, and its present limits. NoSuchBackfillError: there is none of that name."""
        job = self._job(name)
        with closing(Watch(self._store(job), name, _soon())) as watch:
            return self._shown(job) | {"progress": asdict(watch.progress()), "limits": asdict(watch.pace)}

    def chunks(self, name: str) -> list[dict[str, Any]]:
        """Return the chunks of a job, and how far each is."""
        store = self._store(self._job(name))
        found = store.all_markers(_soon())
        states = chunk_states(found)
        return [
            {"id": split.id, "planned_rows": split.rows, **_chunk(states.get(split.id, ChunkState()))}
            for split, _ in placed_chunks(store.driver_state(_soon()).splits, found, store.topics.lanes)
        ]

    def start(self, given: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """Plan a job, and run it in a process of this worker. ConfigError lists every mistake of the spec."""
        spec = checked(given)
        check_bounds(spec, self._worker)
        self._children.answer("run", _as_json(spec), timeout_s)
        return self._shown(self._job(spec.name))

    def resume(self, name: str, timeout_s: float, *, is_asked_for: bool = True) -> None:
        """Go on with a job in a process of this worker, also if another worker runs it, which then stops."""
        self._job(name).require_allowed(JobAction.RESUME)
        spec = runnable(self._spec(name), by=f"`connect backfill resume {name}` with")
        spec = within_bounds(spec, self._worker)
        self._children.answer("run", _as_json(spec), timeout_s, is_asked_for=is_asked_for)

    def adopt(self, alive: Collection[str] | None, timeout_s: float) -> Mapping[str, str]:
        """Run jobs here that have lost their worker or process; return those to try again, each with the reason.

        These are jobs of workers of this cluster that are not in `alive` (None: no other worker's jobs are taken), and
        jobs of this worker whose process has died. A job that fails to go on keeps no other job waiting. A job whose
        owner wants it to pause or to end does that. A job whose engine no worker may choose stays as it is.
        """
        jobs = self._jobs()
        left = [job for job in jobs.jobs.values() if self._is_left(job, alive)]
        self._children.forget_ended()
        why: dict[str, str] = {}
        again: dict[str, str] = {}

        def go_on(job: Job) -> None:
            asked = jobs.signals.get(job.name)
            _log.warning("Worker %s no longer runs backfill %s; this one sees to it.", job.worker, job.name)
            try:
                if asked in {Signal.PAUSE, Signal.CANCEL}:
                    self._finish(job, asked)
                else:
                    self.resume(job.name, timeout_s, is_asked_for=False)
            except ConnectError as error:
                why[job.name] = str(error)
                if not isinstance(error, ConfigError):
                    again[job.name] = str(error)
                _log.warning("Backfill %s does not go on here: %s", job.name, error)

        with ThreadPoolExecutor(_ADOPTIONS, thread_name_prefix="adopt") as threads:
            list(threads.map(go_on, left))
        self._not_adopted = why
        return again

    def _finish(self, job: Job, asked: Signal) -> None:
        """Pause or cancel a job whose run died before it could."""
        with self._driver(job.name) as driver:
            if asked is Signal.CANCEL:
                driver.cancel()
            else:
                driver.rest(job.run)

    def _is_left(self, job: Job, alive: Collection[str] | None) -> bool:
        """Return True if nobody runs a job any more, and this worker has to take care of it."""
        if not job.is_running or not job.worker or self._children.is_running(job.name):
            return False
        if job.worker == self._children.worker_id:
            return True
        # A job without an owner may be any cluster's, and nobody here knows if that cluster's workers live.
        return job.group == self._worker.group_id and alive is not None and job.worker not in alive

    @property
    def has_died(self) -> bool:
        """Return True if a process of this worker was killed, or could not write how it ended."""
        return self._children.has_died

    def pause(self, name: str) -> None:
        """Pause a job; its lanes end behind their chunks."""
        with self._driver(name) as driver:
            driver.pause()

    def limit(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change a job's limits from now on, and return the new ones. ConfigError: a key or value is wrong."""
        with self._driver(name) as driver:
            return asdict(driver.limit(given))

    def cancel(self, name: str) -> None:
        """End a job for good; nothing more is written when this returns."""
        with self._driver(name) as driver:
            driver.cancel()

    def verify(self, name: str, timeout_s: float) -> Any:
        """Verify a job in a process of this worker: read everything again and compare. Return the verdict as JSON."""
        return self._children.answer("verify", _as_json(without_choices(self._spec(name))), timeout_s)

    def hand_over(self, name: str, cluster: Connectors, timeout_s: float, *, is_forced: bool) -> None:
        """Write the offsets of a job's connector, and resume the connector.

        ConnectError: the connector is not stopped, or has offsets; or the job's last verdict is not good, unless
        `is_forced`.
        """
        driver = self._driver(name)
        if not is_forced:
            require_no_bad_verdict(driver)
        require_stopped(cluster, driver)
        self._children.answer("write_offsets", _as_json(driver.spec), timeout_s)
        if driver.spec.handover.start_connector:
            cluster.resume(driver.settings.name)

    def close(self) -> None:
        """End the processes of this worker."""
        self._children.close()

    def _jobs(self) -> Jobs:
        return JobStore(self._worker, StateTopics(JOBS_TOPIC, "", 0)).jobs(_soon())

    def _job(self, name: str) -> Job:
        return self._known(self._jobs(), name)

    def _spec(self, name: str) -> BackfillSpec:
        found = self._jobs()
        return found.spec(self._known(found, name))

    def _known(self, found: Jobs, name: str) -> Job:
        job = found.known(name)
        if job is None:
            raise NoSuchBackfillError(
                f"There is no backfill {name} in topic {JOBS_TOPIC}. One with a state.jobs_topic of its own is seen by "
                "`connect backfill status` alone.",
                fix="See those of this cluster by GET /backfills.",
            )
        job.require_owner(self._worker.group_id)
        return job

    def _store(self, job: Job) -> JobStore:
        return JobStore(self._worker, replace(state_topics(job.settings), jobs=JOBS_TOPIC))

    def _driver(self, name: str) -> Driver:
        # The driver needs no connector configuration, as it neither plans nor runs.
        spec = without_choices(self._spec(name))
        state = spec.state.model_copy(update={"jobs_topic": JOBS_TOPIC})
        return Driver(spec.model_copy(update={"state": state}), self._worker, {})

    def _shown(self, job: Job) -> dict[str, Any]:
        own = {key: value for key, value in asdict(job).items() if key not in {"run", "configs", "id"}}
        here = {"runs_here": self._children.is_running(job.name), "not_adopted": self._not_adopted.get(job.name)}
        return {"name": job.name, **own, **here, "spec": without_secrets(job.spec)}


def _as_json(spec: BackfillSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json", by_alias=True)


def _chunk(state: ChunkState) -> dict[str, Any]:
    return {"done": state.is_done, "read": state.read, "rows": state.rows, "size_bytes": state.size_bytes}


def _soon() -> Deadline:
    return Deadline.after(_KAFKA_S)
