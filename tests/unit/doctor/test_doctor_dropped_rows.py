"""The doctor warns of failed rows that are kept nowhere, and proposes a topic for them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from connect.doctor.checks.configurations import Configurations
from connect.doctor.model.facts import ConnectorFacts, Facts
from connect.doctor.model.findings import Finding
from connect.runtime.settings.worker_config import WorkerConfig

WORKER = {
    "bootstrap.servers": "k:9092", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": "JsonConverter", "value.converter": "JsonConverter",
}  # fmt: skip


def dropped(connector: ConnectorFacts) -> Finding:
    facts = Facts(WorkerConfig.parse(WORKER), datetime(2026, 1, 1, tzinfo=UTC), connectors=(connector,))
    (found,) = Configurations().findings(facts)
    assert found.name == "bad-rows-dropped"
    return found


@pytest.mark.parametrize(("is_sink", "severity"), [(True, "warning"), (False, "note")])
def test_a_source_of_java_cannot_have_dead_letters_so_it_is_no_warning(is_sink: bool, severity: str) -> None:
    found = dropped(ConnectorFacts("rows", is_sink, {"errors.tolerance": "all"}))
    assert (found.severity.value, found.fix) == (severity, '"errors.deadletterqueue.topic.name": "rows-letters"')


@pytest.mark.parametrize(
    ("name", "topic"),
    [("orders (new)", "orders--new--letters"), ("Bücher", "B-cher-letters"), ("x" * 300, "x" * 200 + "-letters")],
)
def test_the_proposed_topic_has_a_name_that_a_topic_may_have(name: str, topic: str) -> None:
    assert dropped(ConnectorFacts(name, True, {"errors.tolerance": "all"})).fix.endswith(f': "{topic}"')
