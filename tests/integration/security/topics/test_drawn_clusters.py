"""Draws two clusters of workers on one Kafka: neither shows, changes, starts or takes over a backfill of the other's.

The model knows whose each job is, and nothing else.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing

import pytest
from attacked import Target
from confluent_kafka import Consumer, TopicPartition
from histories import History, run_histories
from planted_records import plant, told

from connect.api.errors import ConnectError
from connect.backfill.child import BackfillChildren
from connect.backfill.service import BackfillService
from connect.runtime.settings.internal_topics import JOBS_TOPIC
from connect.runtime.settings.worker_config import WorkerConfig

STATES = ("PLANNED", "RUNNING", "PAUSED", "COPIED", "FAILED", "CANCELLED")
ANSWER_S, STEPS = 30.0, 8
ACTS: Mapping[str, Callable[[BackfillService, str], object]] = {
    "show": lambda service, job: service.backfill(job),
    "chunks": lambda service, job: service.chunks(job),
    "pause": lambda service, job: service.pause(job),
    "limit": lambda service, job: service.limit(job, {"rows_per_s": 5}),
    "cancel": lambda service, job: service.cancel(job),
    "resume": lambda service, job: service.resume(job, ANSWER_S),
    "verify": lambda service, job: service.verify(job, ANSWER_S),
    "start": lambda service, job: service.start(spec(job), ANSWER_S),
}  # fmt: skip


def spec(job: str) -> dict[str, object]:
    return {"apiVersion": "backfill/v1", "name": job, "kind": "source", "source": {"connector": "none"}}


def record(job: str, group: str, state: str) -> tuple[bytes, bytes]:
    """Return what the driver of a job that a worker which is gone has begun wrote last."""
    value = {
        "spec": spec(job), "state": state, "run": "r", "chunks": 4, "rows": 1, "size_bytes": 1, "following": [],
        "statements": [], "warnings": [], "created_ms": 1, "updated_ms": 1, "worker": "gone:1", "group": group,
    }  # fmt: skip
    return told({"job": job}), told(value)


def records(bootstrap_servers: str, mark: str) -> dict[bytes, bytes | None]:
    """Return the newest record by its key, of the jobs whose names have this mark."""
    reader = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "none", "enable.partition.eof": True})
    place = TopicPartition(JOBS_TOPIC, 0, 0)
    found: dict[bytes, bytes | None] = {}
    with closing(reader):
        reader.assign([place])
        while (message := reader.poll(30.0)) is not None and message.error() is None:
            if mark.encode() in (message.key() or b""):
                found[message.key() or b""] = message.value()
    return found


def of(found: Mapping[bytes, bytes | None], job: str) -> dict[bytes, bytes | None]:
    return {key: value for key, value in found.items() if json.loads(key)["job"] == job}


@pytest.mark.histories
def test_drawn_clusters_leave_each_others_jobs_alone(target: Target) -> None:
    run_histories("clusters", lambda history: one_history(history, target), short=1)


def one_history(history: History, target: Target) -> None:
    """Plant jobs of both clusters, and let both do what they like to any of them."""
    mark = uuid.uuid4().hex[:8]
    jobs = {f"job-{mark}-{n}": f"{mark}-{history.draw.choice('ab')}" for n in range(6)}
    planted = [record(job, group, history.draw.choice(STATES)) for job, group in jobs.items()]
    plant(target.bootstrap_servers, JOBS_TOPIC, planted, 0)
    try:
        with ExitStack() as stack:
            services = {}
            for group in (f"{mark}-a", f"{mark}-b"):
                keys = {**target.worker.properties, "group.id": group}
                children = BackfillChildren(keys, f"{group}:1")
                services[group] = BackfillService(WorkerConfig.parse(keys), children)
                stack.callback(services[group].close)
            for _ in range(STEPS):
                step(history, target, services, jobs, mark)
    finally:
        left = records(target.bootstrap_servers, mark)
        plant(target.bootstrap_servers, JOBS_TOPIC, [(key, None) for key in left], 0)


def step(
    history: History, target: Target, services: Mapping[str, BackfillService], jobs: Mapping[str, str], mark: str
) -> None:
    """Let a cluster do one thing; fail when a job of the other's has changed, or was not refused by its name."""
    group, job = history.draw.choice(sorted(services)), history.draw.choice(sorted(jobs))
    service, before = services[group], records(target.bootstrap_servers, mark)
    act = history.draw.choice(["adopt", "list", *ACTS])
    history.note(act, by=group, job=job, of=jobs[job])
    if act == "adopt":
        assert {jobs[name] for name in service.adopt([], ANSWER_S) if name in jobs} <= {group}
    elif act == "list":
        shown = {one["name"] for one in service.backfills() if mark in one["name"]}
        assert shown == {name for name, owner in jobs.items() if owner == group}
    else:
        refusal = ""
        try:
            ACTS[act](service, job)
        except ConnectError as error:
            refusal = str(error)
        if jobs[job] != group and act != "start":
            assert f"belongs to the cluster with group.id={jobs[job]}" in refusal, f"{act}: {refusal or 'done'}"
        if jobs[job] != group:
            assert refusal, f"{act} of another cluster's job"
    after = records(target.bootstrap_servers, mark)
    for name, owner in jobs.items():
        if owner != group:
            assert of(after, name) == of(before, name), f"{act} by {group} has changed {name} of {owner}"
