"""Checks what the doctor says of a config topic that is not sealed as the worker's key asks, on plain facts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from connect.doctor.checks.sealing import Sealing
from connect.doctor.model.facts import NO_BROKER, Facts, SealingFacts
from connect.kafka.admin.cluster_state import ClusterState
from connect.runtime.settings.worker_config import WorkerConfig

KEYS = {
    "bootstrap.servers": "kafka-1:9092", "group.id": "g", "config.storage.topic": "configs",
    "offset.storage.topic": "offsets", "status.storage.topic": "statuses", "key.converter": "JsonConverter",
    "value.converter": "JsonConverter",
}  # fmt: skip

THERE = ClusterState(brokers=1)


def facts(sealing: SealingFacts | None, kafka: ClusterState = THERE) -> Facts:
    return Facts(WorkerConfig.parse(KEYS), datetime(2026, 1, 1, tzinfo=UTC), kafka=kafka, sealing=sealing)


@pytest.mark.parametrize(
    ("sealing", "name", "severity", "evidence", "fix"),
    [
        (SealingFacts(closed=frozenset({"rows"})), "config-topic-closed", "error",
         "No key of config.storage.encryption.key opens the records of connectors rows.",
         "config.storage.encryption.key="),
        (SealingFacts(frozenset({"", "rows", "late"})), "config-topic-unsealed", "warning",
         "The records of connectors late, rows are not sealed", "restart them one by one"),
        (SealingFacts(frozenset({""})), "config-topic-unsealed", "warning",
         "The records of the cluster itself are not sealed", "restart them one by one"),
        (SealingFacts(older_plain_count=7), "config-topic-plain-before", "warning", "holds 7 older records",
         "--entity-name configs --add-config segment.ms=600000,max.compaction.lag.ms=600000"),
        (SealingFacts(trouble="configs were not read."), "config-topic-unread", "note", "configs were not read.", ""),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_fix(sealing: SealingFacts, name: str, severity: str, evidence: str, fix: str) -> None:
    (found,) = Sealing().findings(facts(sealing))
    assert (found.name, found.severity.value, found.subject) == (name, severity, "topic configs")
    assert evidence in found.evidence
    assert fix in found.fix


@pytest.mark.parametrize("sealing", [None, SealingFacts()])
def test_a_topic_that_is_as_the_key_asks_is_no_finding(sealing: SealingFacts | None) -> None:
    assert not list(Sealing().findings(facts(sealing)))


def test_brokers_that_are_away_are_told_once() -> None:
    assert not list(Sealing().findings(facts(SealingFacts(trouble="away"), NO_BROKER)))
