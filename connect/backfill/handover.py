"""Hands over to the connector: writes the offsets from which the plan says it goes on, and resumes it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import wait
from contextlib import ExitStack
from typing import Final, Protocol

from connect.api.errors import ConfigError
from connect.api.records import SourcePosition
from connect.backfill.driver import Driver
from connect.backfill.job.job import Job
from connect.backfill.job.markers import HandoverMarker
from connect.backfill.job.planned_settings import require_as_planned
from connect.backfill.job.states import JobAction, JobState, JobStateError
from connect.backfill.job.topic_source import require_same_topics, topic_offset, topic_position
from connect.backfill.one_cluster import require_one_cluster
from connect.client.rest import ConnectClient
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.calls.group_calls import group_admin, group_of
from connect.runtime.calls.kafka_calls import fence
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.source.exactly_once import writes_in_transactions
from connect.runtime.source.ledger import partition_key

_KAFKA_S: Final = 60.0
_WRITES_S: Final = 30.0
"""A handover keeps so many seconds of its time for what it writes, when it waits for others' transactions before."""
_LEAST_S: Final = 1.0


class Connectors(Protocol):
    """Is the part of a cluster's API that a handover uses."""

    def standing(self, name: str) -> tuple[str, int] | None:
        """Return a connector's state and its number of tasks; None if there is no connector of that name."""

    def resume(self, name: str) -> None:
        """Resume a connector."""


class ConnectorsByRest:
    """Reaches the connectors through any worker of the cluster."""

    def __init__(self, client: ConnectClient) -> None:
        self._client = client

    def standing(self, name: str) -> tuple[str, int] | None:
        """Return a connector's state and number of tasks as its status says; None if there is none of that name."""
        found = self._client.connectors().get(name)
        return None if found is None else (found["status"]["connector"]["state"], len(found["status"]["tasks"]))

    def resume(self, name: str) -> None:
        """Send PUT /connectors/{name}/resume."""
        self._client.change_state(name, "resume")


def hand_over(driver: Driver, cluster: Connectors, deadline: Deadline, *, is_forced: bool = False) -> Job:
    """Write the connector's offsets in one transaction with the job's last marker, resume it, and return the job.

    It may be called again after it died: the marker tells if the offsets are written. ConnectError: chunks are missing,
    the connector is not stopped, or it has offsets already; or the last verdict on the job is not good, unless
    `is_forced`.
    """
    if not is_forced:
        require_no_bad_verdict(driver)
    require_stopped(cluster, driver)
    job = write_offsets(driver, deadline)
    if driver.spec.handover.start_connector:
        cluster.resume(driver.settings.name)
    return job


def require_no_bad_verdict(driver: Driver) -> None:
    """Raise JobStateError if the last verification found something wrong.

    Nothing is checked once the offsets are written.
    """
    job = driver.ownership.require_known()
    said = driver.store.driver_state(Deadline.after(_KAFKA_S)).verdict
    if job.state is not JobState.DONE and said is not None and not said.good:
        raise JobStateError(
            f"Backfill {job.name} was verified, and is {said.line}.",
            fix="Verify it again once that is mended; or hand it over all the same by --force, over REST by "
            f"POST /backfills/{job.name}/handover?force=true.",
        )


def require_stopped(cluster: Connectors, driver: Driver) -> None:
    """Raise JobStateError if the connector is missing, or its tasks may still store offsets.

    Nothing is checked once the offsets of the handover are written.
    """
    job = driver.ownership.require_known()
    job.require_allowed(JobAction.HAND_OVER)
    if job.state is JobState.DONE:
        return
    name = driver.settings.name
    found = cluster.standing(name)
    if found is None:
        raise JobStateError(
            f"There is no connector {name} that could go on.",
            key="source.connector" if driver.connectors.source else "target.connector",
            fix='Create it by POST /connectors with "initial_state": "STOPPED".',
        )
    state, tasks = found
    if state != "STOPPED" or tasks:
        raise JobStateError(
            f"Connector {name} is {state}: what its tasks store would replace the offsets of the handover.",
            fix=f"Stop it by `connect connectors stop {name}`, over REST by PUT /connectors/{name}/stop, and wait "
            "until its tasks have ended.",
        )


def write_offsets(driver: Driver, deadline: Deadline) -> Job:
    """Write the offsets and the marker of `hand_over`, unless that was done before.

    ConnectError: markers are lost, or are those of another job.
    """
    others = deadline.sooner(max(_LEAST_S, deadline.remaining_s - _WRITES_S))
    job = driver.ownership.known(driver.ownership.take_over(others))
    job.require_allowed(JobAction.HAND_OVER)
    if driver.store.driver_state(Deadline.after(_KAFKA_S)).handover is not None:
        if job.state is not JobState.DONE:
            # Both are written in one transaction, so the marker is not this job's.
            raise JobStateError(
                f"Topic {driver.store.topics.markers} says that a job was handed over, and the record of backfill "
                f"{job.name} says that it is {job.state}: the topic has markers of another job.",
                key="state.marker_topic",
                fix="Begin again under another name, without state.marker_topic or with a new one.",
            )
        return job
    require_as_planned(job, driver.connectors)
    driver.store.fence_lanes(job.name, Deadline.after(_KAFKA_S))
    driver.ownership.require_written(job)
    return _write(driver, job, deadline)


def _write(driver: Driver, job: Job, deadline: Deadline) -> Job:
    parts = driver.settings.open()
    try:
        if driver.connectors.source is None:
            return _write_group(driver, parts, job, deadline)
        return _write_source(driver, parts, job, deadline)
    finally:
        parts.clients.close()


def _write_source(driver: Driver, parts: ConnectorParts, job: Job, deadline: Deadline) -> Job:
    """Write the offsets of a source in the same transaction as the marker."""
    require_one_cluster(parts, deadline)
    name, config, positions = driver.settings.name, parts.source_config, job.positions
    with ExitStack() as stack:
        if writes_in_transactions(parts.clients.worker, config):
            # After this, a task that its worker lost sight of cannot commit offsets any more.
            fence(parts.clients, name, parts.resolved, config.tasks_max, deadline)
        offsets = parts.clients.offsets.of_connector(name, f"{name}-handover", config, stack, deadline)
        there = offsets.positions()
        _refuse_overwrite(driver, there, positions)
        known = {partition_key(position.partition) for position in there}
        # An empty table has no offset to write, but one that it had must go, or rows up to there are never read.
        written = [p for p in positions if p.offset is not None or partition_key(p.partition) in known]
        offsets.forget_copies(written, deadline)
        done = _marked(driver, job, [offsets.batch(written)] if written else [])
        wait(offsets.copy(written), timeout=deadline.remaining_s)
    return done


def _write_group(driver: Driver, parts: ConnectorParts, job: Job, deadline: Deadline) -> Job:
    """Write the offsets of a sink's group, then the marker. If this dies between, the next call finds the same offsets.

    RetriableError: the group has members.
    """
    require_same_topics(parts, driver.ownership.planned_splits(job), deadline)
    group, admin = group_of(parts.resolved), group_admin(parts.clients, parts.resolved)
    wanted = dict(map(topic_offset, job.positions))
    there = [
        topic_position(tp, offset)
        for tp, offset in admin.group_offsets(group, deadline).items()
        if tp in wanted and offset != wanted[tp]
    ]
    _refuse_overwrite(driver, there, job.positions)
    # Nothing fences the group's write itself. A handover that froze before it finds here that another one is done.
    job = driver.ownership.say(job, job.state)
    admin.alter_group_offsets(group, wanted, deadline)
    return _marked(driver, job, [])


def _marked(driver: Driver, job: Job, stored: Sequence[RawBatch]) -> Job:
    now_ms = time.time_ns() // 1_000_000
    done = job.now(JobState.DONE, now_ms)
    marker = HandoverMarker(job.positions, now_ms)
    driver.ownership.write([*stored, driver.store.driver_batch([marker.record]), driver.store.job_batch(done)])
    return done


def _refuse_overwrite(driver: Driver, stored: Sequence[SourcePosition], wanted: Sequence[SourcePosition]) -> None:
    ours = {partition_key(position.partition) for position in wanted}
    there = [position for position in stored if partition_key(position.partition) in ours]
    if there and not driver.spec.handover.overwrite:
        shown = "; ".join(f"{dict(p.partition)}: {dict(p.offset or {})}" for p in there[:3])
        raise ConfigError(
            f"Connector {driver.settings.name} has offsets already, from which it would go on: {shown}.",
            key="handover.overwrite",
            fix=f"Reset them by DELETE /connectors/{driver.settings.name}/offsets, or set handover.overwrite: true in "
            "the job's file, and hand it over by that: `connect backfill handover FILE`.",
        )
