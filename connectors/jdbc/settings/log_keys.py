"""Declares the settings of mode=log, by Debezium's names. No driver, no I/O.

Source: the connector properties of Debezium 3's PostgreSQL and MariaDB connectors. Defaults are Debezium's except where
the documentation of a key says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from connect.api.allowed import OneOf
from connect.api.config import Boolean, ConnectorConfig, Int, ListOf, Long, String, at_least, key, one_of
from connect.api.errors import ConfigProblem
from connectors.jdbc.dialects.known import dialect_of, dialects, family

if TYPE_CHECKING:
    from connectors.jdbc.settings.config import JdbcSourceConfig

LOG = "Log (mode=log)"
SNAPSHOT_MODES = ("initial", "initial_only", "no_data", "never", "when_needed", "always")
AUTOCREATE_MODES = ("filtered", "all_tables", "disabled")
OPERATIONS = ("c", "u", "d", "t", "none")


def _check_slot_name(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]{1,63}", value):
        raise ValueError("Must be 1 to 63 characters of a-z, 0-9 and '_'")
    return value


class LogKeys(ConnectorConfig):
    """Declares what a user may say about reading the log."""

    slot_name: Annotated[String, AfterValidator(_check_slot_name)] = key(
        "slot.name", "debezium", group=LOG,
        doc="mode=log on PostgreSQL: the logical replication slot. Each connector needs its own. It is made when it is "
        "not there, and keeps the server's log until the connector has stored what it read.",
    )  # fmt: skip
    slot_failover: Boolean = key(
        "slot.failover", False, importance="low", group=LOG,
        doc="Make the slot one that PostgreSQL 17 or later keeps on its standbys too (sync_replication_slots), so that "
        "the log goes on where one of them takes over.",
    )  # fmt: skip
    slot_drop_on_stop: Boolean = key(
        "slot.drop.on.stop", False, importance="low", group=LOG,
        doc="Drop the slot when the task stops. For tests: what changes while the task is stopped is lost.",
    )  # fmt: skip
    slot_drop_on_delete: Boolean = key(
        "slot.drop.on.delete", False, importance="low", group=LOG,
        doc="Drop the slot when the connector is deleted. Else it stays, as Debezium's: a connector made anew goes on "
        "where the deleted one was, and until then the slot keeps the server's log.",
    )  # fmt: skip
    publication_name: String = key(
        "publication.name", "dbz_publication", group=LOG, doc="mode=log on PostgreSQL: the publication that is read."
    )
    publication_autocreate: Annotated[String, one_of(*AUTOCREATE_MODES)] = key(
        "publication.autocreate.mode", "filtered", group=LOG,
        doc="filtered (Debezium's default is all_tables): make the publication of the chosen tables, and add those it "
        "lacks. all_tables: make it FOR ALL TABLES. disabled: it must be there.",
    )  # fmt: skip
    snapshot_mode: Annotated[String, one_of(*SNAPSHOT_MODES)] = key(
        "snapshot.mode", "initial", importance="high", group=LOG,
        doc="initial: read the tables once, then the log. initial_only: end after the tables. no_data, never: the log "
        "alone. when_needed: as initial, and again when the place in the log is lost. always: as initial, at "
        "each start of the task.",
    )  # fmt: skip
    heartbeat_interval_ms: Annotated[Int, at_least(0)] = key(
        "heartbeat.interval.ms", 0, group=LOG,
        doc="Send a record to the heartbeat topic this often; 0: never. The slot moves on without it too: the place in "
        "the log is stored at least every ten seconds, whatever changes elsewhere in the database.",
    )  # fmt: skip
    heartbeat_topic_prefix: String = key(
        "topic.heartbeat.prefix", "__debezium-heartbeat", importance="low", group=LOG,
        doc="The heartbeat topic is this, a dot and topic.prefix.",
    )  # fmt: skip
    tombstones_on_delete: Boolean = key(
        "tombstones.on.delete", True, group=LOG, doc="Send a tombstone behind each deleted row's event."
    )
    skipped_operations: Annotated[ListOf, OneOf(OPERATIONS)] = key(
        "skipped.operations", ("t",), importance="low", group=LOG,
        doc="Operations not sent: c inserts, u updates, d deletes, t truncates; none: send all.",
    )  # fmt: skip
    unavailable_placeholder: String = key(
        "unavailable.value.placeholder", "__debezium_unavailable_value", importance="low", group=LOG,
        doc="Stands for a large value of PostgreSQL that an update left as it was and the log does not hold. "
        "ALTER TABLE … REPLICA IDENTITY FULL makes the log hold it.",
    )  # fmt: skip
    max_batch_size: Annotated[Int, at_least(1)] = key(
        "max.batch.size", 10_000, importance="low", group=LOG,
        doc="mode=log: the most changes of one batch (Debezium: 2048). Less are sent as soon as the log has no more.",
    )  # fmt: skip
    status_update_interval_ms: Annotated[Int, at_least(1)] = key(
        "status.update.interval.ms", 10_000, importance="low", group=LOG,
        doc="How often PostgreSQL hears that the connector lives.",
    )  # fmt: skip
    slot_warn_bytes: Annotated[Long, at_least(0)] = key(
        "slot.retained.warn.bytes", 1 << 30, importance="low", group=LOG,
        doc="Warn when the slot holds back more of the server's log than this; the metric slot_retained_bytes tells.",
    )  # fmt: skip


def log_problems(config: JdbcSourceConfig) -> Iterator[ConfigProblem]:
    """Yield what is wrong between settings when mode=log."""
    if not config.topic_prefix:
        yield ConfigProblem("topic.prefix", "mode=log needs topic.prefix: it names topics, offsets and schemas.")
    if family(config.connection_url) and dialect_of(config.connection_url).log is None:
        *others, last = [dialect.title for dialect in dialects() if dialect.log is not None]
        text = f"mode=log reads {', '.join(others)} and {last}: use another mode for this database."
        yield ConfigProblem("mode", text)
    if config.key_fields:
        yield ConfigProblem(
            "key.fields",
            "mode=log has the table's own key as record key, as that is what a delete tells: use the transform "
            "ValueToKey for another one.",
        )
    if config.query_text:
        name = "query" if config.query else "query.masked"
        yield ConfigProblem(name, f"mode=log reads tables, not {name}: use another mode for a query.")
