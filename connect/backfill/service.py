"""Backfills as a worker offers them over REST. Every method blocks, so that it is called from a thread."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import asdict
from typing import Any, Final

from connect.api.deadline import Deadline
from connect.api.errors import ConfigError, ConfigProblem, ConnectError
from connect.backfill.child import BackfillChildren
from connect.backfill.chunk import Wish
from connect.backfill.division import placed_chunks
from connect.backfill.driver import Driver, state_topics
from connect.backfill.handover import Connectors, require_stopped
from connect.backfill.job import Job, JobPace, JobWish
from connect.backfill.job_store import JobStore, StateTopics
from connect.backfill.limits import limited
from connect.backfill.markers import ChunkState, chunk_states
from connect.backfill.progress import Watch
from connect.backfill.spec import BackfillSpec, State
from connect.backfill.spec_file import spec_mistakes
from connect.runtime.worker_config import WorkerConfig

_log = logging.getLogger(__name__)
_KAFKA_S: Final = 30.0
_BY_FILE_ALONE: Final = {
    ("engine", "conf"): "runs code of its author's choice",
    ("engine", "packages"): "runs code of its author's choice",
    ("engine", "jars"): "runs code of its author's choice",
    ("engine", "master"): "names another machine",
    ("engine", "remote"): "names another machine",
    ("engine", "python_env"): "runs code of its author's choice",
    ("source", "config"): "names a file of the worker",
    ("target", "config"): "names a file of the worker",
}
"""Whoever may POST may not choose what a worker runs and reads."""


class NoSuchBackfillError(ConnectError):
    """There is no job of that name."""


class BackfillService:
    """Owned by the REST server; may be used from any thread."""

    def __init__(self, worker: WorkerConfig, children: BackfillChildren) -> None:
        self._worker = worker
        self._children = children

    def backfills(self) -> list[dict[str, Any]]:
        """Every job of the default jobs topic, by name."""
        jobs = JobStore(self._worker, StateTopics(State().jobs_topic, "", 0)).jobs(_soon()).jobs
        return [self._shown(jobs[name]) for name in sorted(jobs)]

    def backfill(self, name: str) -> dict[str, Any]:
        """A job, how far it is and the limits that count now. NoSuchBackfillError."""
        job = self._job(name)
        with closing(Watch(self._store(job), name, _soon())) as watch:
            return self._shown(job) | {"progress": asdict(watch.progress()), "limits": asdict(watch.pace)}

    def chunks(self, name: str) -> list[dict[str, Any]]:
        """Its chunks, and how far each is."""
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
        self._children.answer("run", spec.model_dump(mode="json", by_alias=True), timeout_s)
        return self._shown(self._job(spec.name))

    def resume(self, name: str, timeout_s: float) -> None:
        """Go on with it in a process of this worker, which takes it over where another one runs it."""
        self._children.answer("run", runnable(self._spec(name)), timeout_s)

    def adopt(self, alive: Collection[str] | None, timeout_s: float) -> list[str]:
        """Run here what workers ran that are no longer `alive` (None: leave those of others alone), and what a process
        of this worker ran that has died.

        Names of these jobs. A job whose owner wants it to pause stays as it is, and so does one whose spec a worker may
        not run. ConnectError: one cannot go on now.
        """
        jobs = JobStore(self._worker, StateTopics(State().jobs_topic, "", 0)).jobs(_soon())
        me = self._children.worker_id
        left = [
            job.name for job in jobs.jobs.values()
            if job.is_running and job.worker and jobs.wishes.get(job.name, Wish.GO_ON) is Wish.GO_ON
            and not self._children.is_running(job.name)
            and (job.worker == me or (alive is not None and job.worker not in alive))
        ]  # fmt: skip
        self._children.forget_ended()
        for name in left:
            _log.warning("Backfill %s goes on here: worker %s no longer runs it.", name, jobs.jobs[name].worker)
            try:
                self.resume(name, timeout_s)
            except ConfigError as error:
                _log.warning("Backfill %s stays as it is: %s", name, error)
        return left

    @property
    def has_died(self) -> bool:
        """A process of this worker was killed, or could not say how it ended."""
        return self._children.has_died

    def pause(self, name: str) -> None:
        """Let its lanes end behind their chunks."""
        self._store(self._job(name)).say(JobWish(name, Wish.PAUSE), _soon())

    def limit(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Let it go faster or slower from now on: the new limits. ConfigError: another key, or a value that is none."""
        limits = limited(self._spec(name).limits, given)
        self._store(self._job(name)).say(JobPace(name, limits.pace), _soon())
        return asdict(limits.pace)

    def cancel(self, name: str) -> None:
        """End it for good; nothing more is written when this returns."""
        with self._driver(name) as driver:
            driver.cancel()

    def verify(self, name: str, timeout_s: float) -> Any:
        """Read everything again and compare."""
        return self._children.answer("verify", runnable(self._job(name).settings), timeout_s)

    def hand_over(self, name: str, cluster: Connectors, timeout_s: float) -> None:
        """Write its connector's offsets, and resume it. ConnectError: it is not stopped, or has offsets."""
        driver = self._driver(name)
        require_stopped(cluster, driver)
        self._children.answer("write_offsets", runnable(driver.spec), timeout_s)
        if driver.spec.handover.start_connector:
            cluster.resume(driver.settings.name)

    def close(self) -> None:
        """End the processes of this worker."""
        self._children.close()

    def _job(self, name: str) -> Job:
        found = JobStore(self._worker, StateTopics(State().jobs_topic, "", 0)).jobs(_soon()).jobs.get(name)
        if found is None:
            raise NoSuchBackfillError(f"There is no backfill {name}.")
        return found

    def _spec(self, name: str) -> BackfillSpec:
        found = JobStore(self._worker, StateTopics(State().jobs_topic, "", 0)).jobs(_soon())
        if name not in found.jobs:
            raise NoSuchBackfillError(f"There is no backfill {name}.")
        return found.spec(found.jobs[name])

    def _store(self, job: Job) -> JobStore:
        return JobStore(self._worker, state_topics(job.settings))

    def _driver(self, name: str) -> Driver:
        # A driver of its own needs no connector as long as it neither plans nor runs.
        return Driver(self._job(name).settings, self._worker, {})

    def _shown(self, job: Job) -> dict[str, Any]:
        own = {key: value for key, value in asdict(job).items() if key != "run"}
        return {"name": job.name, **own, "runs_here": self._children.is_running(job.name)}


def checked(given: Mapping[str, Any]) -> BackfillSpec:
    """The spec of a request. ConfigError lists every mistake, and every part that a request may not choose."""
    problems = []
    for (part, key), why in _BY_FILE_ALONE.items():
        inner = given.get(part)
        if isinstance(inner, Mapping) and key in inner:
            text = f"{part}.{key}: it {why}; give it in a file to `connect backfill run`."
            problems.append(ConfigProblem(f"{part}.{key}", text))
    for place, text in spec_mistakes(given):
        key = ".".join(map(str, place))
        problems.append(ConfigProblem(key, f"{key}: {text}."))
    if problems:
        raise ConfigError(problems)
    return BackfillSpec.model_validate(given)


def runnable(spec: BackfillSpec) -> dict[str, Any]:
    """The spec of a stored job as a process of this worker may run it. ConfigError: its engine was chosen in a file.

    Any connector may have written the record: it chooses no more than a request does.
    """
    chosen = spec.engine.model_dump(exclude_defaults=True)
    if spec.engine.master.startswith("local["):
        chosen.pop("master", None)  # this machine, on any number of cores
    problems = [
        ConfigProblem(
            f"engine.{key}", f"engine.{key} of job {spec.name}: it {why}; go on with it by `connect backfill`."
        )
        for (part, key), why in _BY_FILE_ALONE.items()
        if part == "engine" and key in chosen
    ]
    if problems:
        raise ConfigError(problems)
    # The connectors are there since the job began; a file that is named would be read on this worker.
    without_files: dict[str, dict[str, None]] = {"source": {"config": None}, "target": {"config": None}}
    parts = {name: getattr(spec, name).model_copy(update=change) for name, change in without_files.items()}
    return spec.model_copy(update=parts).model_dump(mode="json", by_alias=True)


def _chunk(state: ChunkState) -> dict[str, Any]:
    return {"done": state.is_done, "read": state.read, "rows": state.rows, "size_bytes": state.size_bytes}


def _soon() -> Deadline:
    return Deadline.after(_KAFKA_S)
