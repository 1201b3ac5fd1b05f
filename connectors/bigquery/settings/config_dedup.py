"""The settings of dedup. Values only."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator

from connect.api.config import Boolean, ConnectorConfig, ListOf, Long, String, at_least, key, non_empty, one_of
from connectors.bigquery.dedup.rules import DedupRules, Deletes, Keep, NullKey
from connectors.bigquery.dedup.window import Late, parse_window
from connectors.bigquery.rows.paths import Path, Root

DEDUP: Final = "Dedup"
_DELETE_FIELD: Final = re.compile(r"(?P<path>[^=]+)=(?P<value>.*)")


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
    found = _DELETE_FIELD.fullmatch(value)
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


class DedupSettings(ConnectorConfig):
    """`dedup.*`, and the Java connector's settings of its upserts, which stand for some of them."""

    dedup_mode: Annotated[String, one_of("auto", "none", "merge", "cdc", "view", "insert_id")] = key(
        "dedup.mode", "auto",
        doc="merge: records are merged into rows by a MERGE. cdc: BigQuery applies them by the table's primary key. "
        "view: each record is added, and a view beside the table shows the rows. none: each record is a row. "
        "insert_id: by insertAll with the dedup.fields as insertId, which BigQuery compares for about a minute, as "
        "well as it can. "
        "auto: merge where dedup.fields or upsertEnabled say what a row is, else none.", group=DEDUP,
    )  # fmt: skip
    dedup_fields: Annotated[ListOf, _paths] = key(
        "dedup.fields",
        (),
        doc="Records in which all of these are equal are one row: fields of the value (id, order.id), __key, __key.id, "
        "__header.x, __topic, __topic_id, __partition, __offset.",
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
        doc="Rows wait at most this long before they are written; default: mergeIntervalMs where upsertEnabled is set.",
        group=DEDUP,
    )  # fmt: skip
    dedup_max_records: Annotated[Long, at_least(1)] = key(
        "dedup.merge.max.records", 500_000, doc="Rows of a table after which a batch is written.", group=DEDUP
    )
    view_suffix: Annotated[String, non_empty] = key(
        "dedup.view.suffix", "_latest",
        harmless="a part of names that stand quoted in SQL",
        doc="With dedup.mode=view: the view of a table has its name and this.",
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
        doc="With upsertEnabled: tombstones delete their row, as by dedup.delete=tombstone; without it they are left "
        "out.", group=DEDUP,
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
    def merges(self) -> bool:
        """Whether records are merged into rows."""
        return self.dedup_mode == "merge" or (self.dedup_mode == "auto" and bool(self.dedup_fields or self.upsert))

    @property
    def captures(self) -> bool:
        """Whether BigQuery applies records by change data capture."""
        return self.dedup_mode == "cdc"

    @property
    def views(self) -> bool:
        """Whether a view shows the rows of records that are all added."""
        return self.dedup_mode == "view"

    @property
    def insert_id(self) -> tuple[Path, ...]:
        """The paths of the insertId of a row: the dedup fields or, as in Java, topic, partition and offset, with the
        topic's id."""
        if self.dedup_mode == "insert_id":
            return tuple(map(Path.parse, self.dedup_fields))
        roots = (Root.TOPIC, Root.PARTITION, Root.OFFSET, Root.TOPIC_ID)
        return () if self.merges else tuple(map(Path, roots))

    @property
    def interval_ms(self) -> int:
        """The longest time that rows wait before they are written."""
        if not self.upsert or "dedup.merge.interval.ms" in self.originals:
            return self.dedup_interval_ms
        return _NEVER_MS if self.merge_interval_ms == -1 else self.merge_interval_ms

    @property
    def max_records(self) -> int:
        """The largest number of rows that are written at once."""
        if not self.upsert or "dedup.merge.max.records" in self.originals or self.merge_threshold == -1:
            return self.dedup_max_records
        return self.merge_threshold

    @property
    def dedup(self) -> DedupRules:
        """The rules of dedup; without fields where records are not merged."""
        if not (self.merges or self.captures or self.views):
            deletes = Deletes.IGNORE if self.dedup_delete == Deletes.IGNORE else Deletes.REFUSE
            return DedupRules(fields=(), deletes=deletes, has_coordinates=self.exactly_once)
        is_java = self.upsert and not self.dedup_fields
        delete = self.dedup_delete
        if self.upsert and not self.delete and "dedup.delete" not in self.originals:
            delete = Deletes.IGNORE
        marked = _DELETE_FIELD.fullmatch(delete)
        deletes = Deletes.FIELD if marked else Deletes(delete)
        if self.dedup_keep == Keep.FIRST:
            deletes, marked = Deletes.IGNORE, None
        if self.views and deletes is not Deletes.IGNORE:
            deletes = Deletes.SOFT
        return DedupRules(
            fields=tuple(map(Path.parse, ("__key",) if is_java else self.dedup_fields)),
            order_by=tuple(map(Path.parse, self.dedup_order)),
            keep=Keep(self.dedup_keep),
            deletes=deletes,
            null_key=NullKey(self.dedup_null_key),
            delete_field=Path.parse(marked["path"]) if marked else None,
            delete_value=marked["value"] if marked else "",
        )

    @property
    def remembers_deletes(self) -> bool:
        """Whether hard deletes leave their key and order in a second table."""
        return (
            self.merges and self.dedup.deletes in {Deletes.TOMBSTONE, Deletes.FIELD} and self.tombstone_retention_ms > 0
        )
