"""Checks when a run of a source ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from connect.api.records import TopicPartition
from connect.poc.sandbox.options import Options
from connect.poc.source import source_run
from connect.poc.source.source_run import SourceRunner, sandboxed

STATUS = {"connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]}


@dataclass
class Cluster:
    """All rows are written at once; their transaction is committed when it was looked for so many times."""

    looks_until_committed: int
    looks: int = 0
    removed: list[str] = field(default_factory=list)
    reading: dict[str, str] = field(default_factory=dict)

    @property
    def admin(self):
        return self

    @property
    def rest(self):
        return SimpleNamespace(create=lambda *_: None)

    def new_name(self, label):
        return label

    def remove(self, name):
        self.removed.append(name)

    def topics(self, _deadline):
        return ["run.t"]

    def partition_counts(self, topics, _deadline):
        return dict.fromkeys(topics, 1)

    def end_offsets(self, partitions, _deadline, *, committed_only=False):
        if committed_only:
            self.looks += 1
        is_held = committed_only and self.looks < self.looks_until_committed
        return dict.fromkeys(partitions, 0 if is_held else 2000)


@pytest.mark.parametrize("looks", [1, 4])
def test_a_run_ends_at_its_bound_of_rows_once_they_are_committed(looks, monkeypatch):
    monkeypatch.setattr(source_run, "status_of", lambda *_: STATUS)
    monkeypatch.setattr(source_run, "scrape", lambda *_: {})
    monkeypatch.setattr(source_run, "stop", lambda *_: None)
    monkeypatch.setattr("connect.poc.sandbox.connector_runs.LOOK_S", 0.001)
    cluster = Cluster(looks_until_committed=looks)
    run = SourceRunner(cluster, {}, Options(budget_rows=2000)).run("run")
    assert run.ends == {TopicPartition("run.t", 0): 2000}
    assert (len(run.readings), cluster.looks, run.is_complete) == (looks, looks, False)
    assert cluster.removed == ["run"]


@pytest.mark.parametrize("client", ["producer", "consumer", "admin"])
def test_no_override_leads_a_run_to_the_users_own_brokers(client):
    of_brokers = dict.fromkeys(
        [f"{client}.override.{key}" for key in ("bootstrap.servers", "security.protocol", "sasl.jaas.config", "ssl.x")],
        "theirs:9092",
    )
    own = sandboxed({"topic": "t", f"{client}.override.linger.ms": "7", **of_brokers}, "run.")
    assert "theirs:9092" not in own.values()
    assert own[f"{client}.override.linger.ms"] == "7"


@pytest.mark.parametrize("key", ["schema.history.internal.kafka.topic", "database.history.kafka.topic"])
def test_a_run_in_java_leaves_the_history_and_the_replica_of_its_owner_alone(key):
    own = sandboxed({key: "theirs", "database.server.id": "184054"}, "poc-1-beside-2.")
    assert own[key] == "poc-1-beside-2-history", "it is removed with the run, and its rows are none of the run's"
    assert int(own["database.server.id"]) > 184054
    assert sandboxed({"topic": "t"}, "run.").keys().isdisjoint({key, "database.server.id"})
