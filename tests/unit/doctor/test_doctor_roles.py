"""Checks what the doctor says of roles whose pattern fits no connector, on plain facts."""

from __future__ import annotations

from datetime import UTC, datetime

from connect.doctor.checks.roles import Roles
from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Finding
from connect.runtime.settings.worker_config import WorkerConfig

KEYS = {
    "bootstrap.servers": "kafka-1:9092", "group.id": "g", "config.storage.topic": "configs",
    "offset.storage.topic": "offsets", "status.storage.topic": "statuses", "key.converter": "JsonConverter",
    "value.converter": "JsonConverter", "rest.basic.auth.file": "/etc/users",
}  # fmt: skip


def found(names: frozenset[str] | None, **roles: str) -> list[Finding]:
    keys = {f"rest.roles.{role}": given for role, given in roles.items()}
    facts = Facts(WorkerConfig.parse({**KEYS, **keys}), datetime(2026, 1, 1, tzinfo=UTC), all_names=names)
    return list(Roles().findings(facts))


def test_a_pattern_that_fits_no_connector_is_told_with_the_name_that_was_meant() -> None:
    (told,) = found(frozenset({"Orders-eu", "lake"}), operator="ada on lake, bob on orders-*", viewer="*", admin="root")
    assert (told.name, told.severity.value, told.subject) == (
        "role-fits-nothing", "note", "worker file, rest.roles.operator",
    )  # fmt: skip
    assert told.evidence == "bob on orders-*: no connector has a name that fits orders-*."
    assert "Capitals count: in other letters it fits Orders-eu." in told.why
    assert told.fix == "rest.roles.operator=bob on Orders-eu"


def test_nothing_is_told_where_not_all_connectors_are_known_or_there_are_none() -> None:
    assert found(None, editor="bob on orders-*") == []
    assert found(frozenset(), editor="bob on orders-*") == []
    assert found(frozenset({"orders-1"}), editor="bob on orders-[0-9]") == []
