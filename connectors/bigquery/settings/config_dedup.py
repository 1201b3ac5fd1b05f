"""Declares the settings of dedup. Values only."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator

from connect.api.config import Boolean, Int, ListOf, Long, String, at_least, key, non_empty, one_of
from connectors.bigquery.dedup.rules import DELETE_FIELD, Deletes, Keep, NullKey
from connectors.bigquery.dedup.window import Late, parse_window
from connectors.bigquery.modes.auto import AutoMode
from connectors.bigquery.modes.choice import MODES
from connectors.bigquery.rows.paths import Path
from connectors.bigquery.settings.config_budget import BudgetSettings

DEDUP: Final = "Dedup"


def _check_paths(value: tuple[str, ...]) -> tuple[str, ...]:
    for text in value:
        Path.parse(text)
    if len(set(value)) < len(value):
        raise ValueError("A field is named twice")
    if len(value) > 16:
        raise ValueError("At most 16 fields")
    return value


def _check_delete(value: str) -> str:
    if value in {Deletes.TOMBSTONE, Deletes.SOFT, Deletes.IGNORE}:
        return value
    found = DELETE_FIELD.fullmatch(value)
    if found is None:
        raise ValueError("Give tombstone, soft, ignore, or a field and its value such as __deleted=true")
    Path.parse(found["path"])
    return value


def _check_window(value: str) -> str:
    parse_window(value)
    return value


def _check_size_or_off(value: int) -> int:
    if value != -1 and value < 1:
        raise ValueError("Value must be at least 1, or -1 for off")
    return value


size_or_off: Final = AfterValidator(_check_size_or_off)
"""Accepts -1 for off, and whole numbers from 1."""
_paths: Final = AfterValidator(_check_paths)
_NEVER_MS: Final = 86_400_000 * 365


class DedupSettings(BudgetSettings):
    """Declares `dedup.*`, and the Java connector's settings of upserts, which set some of these."""

    dedup_mode: Annotated[String, one_of(AutoMode.name, *MODES)] = key(
        "dedup.mode", AutoMode.name,
        doc=" ".join(f"{mode.name}: {mode.doc}" for mode in MODES.values())
        + f" auto: with dedup.fields {AutoMode.doc} With dedup.keep=first, dedup.late=append or upsertEnabled merge; "
        "where nothing says what a row is none.", group=DEDUP,
    )  # fmt: skip
    dedup_fields: Annotated[ListOf, _paths] = key(
        "dedup.fields",
        (),
        doc="Records in which all of these are equal are one row: fields of the value (id, order.id), __key, __key.id, "
        "__header.x, __topic, __topic_id, __partition, __offset, __row (rows that a transform made of one record).",
        importance="high",
        group=DEDUP,
    )
    dedup_keep: Annotated[String, one_of(*Keep)] = key(
        "dedup.keep", "latest",
        doc="Which record of a row stays: the latest in dedup.order.by, or the first that came.", group=DEDUP,
    )  # fmt: skip
    dedup_order: Annotated[ListOf, _paths] = key(
        "dedup.order.by", ("__timestamp",),
        doc="Fields whose largest values make a record the latest; ties are broken by time, partition and offset.",
        group=DEDUP,
    )  # fmt: skip
    dedup_delete: Annotated[String, AfterValidator(_check_delete)] = key(
        "dedup.delete",
        "tombstone",
        doc="Records that delete their row: tombstone (a null value), a field and its value such as __deleted=true "
        "(tombstones too), soft (the row stays, its column _deleted is true), ignore (tombstones are left out).",
        group=DEDUP,
    )
    dedup_null_key: Annotated[String, one_of(*NullKey)] = key(
        "dedup.null.key", "fail",
        doc="Records that lack a dedup field: fail ends the task, dlq makes bad records of them (errors.tolerance), "
        "append adds each as a row of its own.", group=DEDUP,
    )  # fmt: skip
    dedup_window: Annotated[String, AfterValidator(_check_window)] = key(
        "dedup.window", "none",
        doc="Only partitions of the table from the oldest record of a batch less this time (3d, 12h) on are searched "
        "for rows, which costs less; a row further back is not found. none: the whole table, always exact.",
        group=DEDUP,
    )  # fmt: skip
    dedup_late: Annotated[String, one_of(*Late)] = key(
        "dedup.late", "merge",
        doc="Records further back than dedup.window behind the newest one: merge searches as far back as they are, dlq "
        "makes bad records of them, drop leaves them out, append adds each as a row of its own.", group=DEDUP,
    )  # fmt: skip
    dedup_interval_ms: Annotated[Long, at_least(0)] = key(
        "dedup.merge.interval.ms", 60_000,
        doc="Rows wait at most this long before they are written; default: mergeIntervalMs where upsertEnabled "
        "or deleteEnabled is set.",
        group=DEDUP,
    )  # fmt: skip
    dedup_max_records: Annotated[Long, at_least(1)] = key(
        "dedup.merge.max.records", 500_000, doc="Rows of a table after which a batch is written.", group=DEDUP
    )
    compact_interval_ms: Annotated[Long, at_least(0)] = key(
        "dedup.compact.interval.ms", 86_400_000,
        doc="With dedup.mode=compact: rows wait at most this long in the log before they are merged into the table.",
        group=DEDUP,
    )  # fmt: skip
    compact_percent: Annotated[Int, at_least(1)] = key(
        "dedup.compact.percent", 25,
        doc="With dedup.mode=compact: the log is merged before its time when it has so many rows, in percent of the "
        "table's.", group=DEDUP,
    )  # fmt: skip
    view_suffix: Annotated[String, non_empty] = key(
        "dedup.view.suffix", "_latest",
        harmless="a part of names that stand quoted in SQL",
        doc="With dedup.mode=view or compact: the view of a table has its name and this.",
        group=DEDUP,
    )  # fmt: skip
    max_staleness: Annotated[String, AfterValidator(_check_window)] = key(
        "dedup.max.staleness", "10m",
        doc="With dedup.mode=cdc: how old what queries of a new table see may be, as 10m; none: queries see every "
        "change, and pay for it.", group=DEDUP,
    )  # fmt: skip
    tombstone_retention_ms: Annotated[Long, at_least(0)] = key(
        "dedup.tombstone.retention.ms", 604_800_000,
        doc="How long a delete is remembered, so that an older record that comes later does not bring its row back; "
        "0: not at all.", group=DEDUP,
    )  # fmt: skip
    upsert: Boolean = key(
        "upsertEnabled", False,
        doc="As dedup.fields=__key, where that is not set: the last record of a key, by Kafka's time and then by "
        "offset, is its row.", group=DEDUP,
    )  # fmt: skip
    delete: Boolean = key(
        "deleteEnabled", False,
        doc="With upsertEnabled: tombstones delete their row, as by dedup.delete=tombstone; else they are left out. "
        "Alone: each record is a row, and a tombstone deletes all of its key (kafkaKeyFieldName).", group=DEDUP,
    )  # fmt: skip
    merge_interval_ms: Annotated[Long, size_or_off] = key(
        "mergeIntervalMs", 60_000, doc="With upsertEnabled: as dedup.merge.interval.ms; -1: not by time.", group=DEDUP
    )
    merge_threshold: Annotated[Long, size_or_off] = key(
        "mergeRecordsThreshold", -1, doc="With upsertEnabled: as dedup.merge.max.records; -1: that setting's value.",
        group=DEDUP,
    )  # fmt: skip

    exactly_once: Boolean = key(
        "exactly.once", False,
        doc="Where rows are added: each record is a row exactly once, by a stream of the Storage Write API for each "
        "partition. The table gets columns for topic, partition and offset.", group=DEDUP,
    )  # fmt: skip

    @property
    def _is_java(self) -> bool:
        return self.upsert or self.delete

    @property
    def interval_ms(self) -> int:
        """Return the longest time, in milliseconds, that rows wait before they are written."""
        if not self._is_java or "dedup.merge.interval.ms" in self.originals:
            return self.dedup_interval_ms
        return _NEVER_MS if self.merge_interval_ms == -1 else self.merge_interval_ms

    @property
    def max_records(self) -> int:
        """Return the largest number of rows that are written at once."""
        if not self._is_java or "dedup.merge.max.records" in self.originals or self.merge_threshold == -1:
            return self.dedup_max_records
        return self.merge_threshold
