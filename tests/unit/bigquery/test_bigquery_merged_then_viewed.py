"""Random logs that are merged first and shown by a view of all records later, in DuckDB, with the sink's own SQL."""

from __future__ import annotations

from typing import Any

import pytest
from bigquery_oracle import Message, batch_of, behind_tombstones, histories, latest
from bigquery_sql import TYPES, SqlTable, config, quoted, texts, wanted
from drawn_cases import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect.api.records import TopicPartition
from connectors.bigquery.dedup.rules import CLEARS, SOFT_DELETED
from connectors.bigquery.dedup.sealed_batch import Piece, SealedBatch
from connectors.bigquery.dedup.view_sql import LatestView, Memory
from connectors.bigquery.write.appending import rows_of

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck)}
WAYS = (
    {}, {"delete": "soft"}, {"delete": "gone=true"}, {"null_key": "append"}, {"order_by": "version"},
    {"order_by": "version", "delete": "soft"}, {"order_by": "version", "delete": "gone=true"},
)  # fmt: skip


class ChangedTable(SqlTable):
    """A table of dedup.mode=merge that goes on with dedup.mode=view."""

    def __init__(self, way: dict[str, str]) -> None:
        super().__init__(config(mode="merge", **way))
        self._viewed = SqlTable(config(mode="view", **way))

    def change(self) -> None:
        """Give the table the columns that the view needs."""
        for column in self._viewed.columns:
            self.database.execute(
                f"ALTER TABLE target ADD COLUMN IF NOT EXISTS {quoted(column.name)} {TYPES[column.type]}"
            )

    def add(self, run: list[Message]) -> None:
        """Add every record of a run, as rows of the view's table."""
        viewed = self._viewed
        admitted = viewed.admission.admit(batch_of(run))
        piece = Piece(TopicPartition("orders", run[0].partition), admitted.rows, admitted.offsets)
        rows = rows_of(SealedBatch("orders", (piece,), viewed.columns, viewed.dedup, None))
        self.database.execute("INSERT INTO target BY NAME SELECT * FROM rows")
        del rows

    def seen(self) -> list[dict[str, Any]]:
        """Return the rows of the view."""
        viewed = self._viewed
        columns = [column.name for column in viewed.columns]
        memories = [
            Memory(name, frozenset(self.database.sql(f"SELECT * FROM {name}").columns), mark)
            for name, mark, is_there in (
                ("deletes", SOFT_DELETED, self.settings.mode.remembers_deletes),
                ("cleared", CLEARS, self.settings.mode.remembers_clears),
            )
            if is_there
        ]
        view = LatestView(
            "target", columns, [p.column for p in viewed.dedup.keys], [p.column for p in viewed.dedup.order],
            viewed.settings.dedup.keep, quoted, memories,
        )  # fmt: skip
        found = self.database.sql(f"SELECT * FROM ({view.text()}) ORDER BY id, text").to_arrow_table().to_pylist()
        return list(found)


def check(way: dict[str, str], history: list[list[Any]], data: st.DataObject) -> None:
    """Merge some batches and add the others; between them a task that was frozen merges what was merged before."""
    # Such a MERGE finds no rows once the mode is view, but for that of a task that stages anew behind the change.
    may_merge = way.get("order_by") != "version"
    table, known = ChangedTable(way), list[Message]()
    merged = data.draw(st.integers(0, len(history)))
    for runs in history[:merged]:
        table.merge(runs)
        known += [message for run in runs for message in run]
    table.change()
    look(table, known, way)
    for runs in history[merged:]:
        if merged and may_merge and data.draw(st.integers(0, 3)) == 0:
            table.merge(history[data.draw(st.integers(0, merged - 1))])
            look(table, known, way)
        for run in runs:
            table.add(list(run))
        known += [message for run in runs for message in run]
        look(table, known, way)


def look(table: ChangedTable, known: list[Message], way: dict[str, str]) -> None:
    by_version = way.get("order_by") == "version"
    counted = behind_tombstones(known) if by_version else known
    model = wanted(latest(counted, by_version=by_version, field_deletes="=" in way.get("delete", "")))
    rows = table.seen()
    assert texts([row for row in rows if row["id"] is not None]) == model
    own = sorted((row["_kafka_partition"], row["_kafka_offset"]) for row in rows if row["id"] is None)
    has_own = way.get("null_key") == "append"
    assert own == sorted({(m.partition, m.offset) for m in known if has_own and m.id is None and m.text is not None})


@pytest.mark.quick
def test_a_delete_that_was_merged_hides_an_older_record_that_a_view_gets():
    table = ChangedTable({})
    table.merge([[Message(0, 0, 1, 5), Message(0, 1, 1, 6, text=None)]])
    table.change()
    assert table.seen() == []
    table.add([Message(1, 0, 1, 4, text="older"), Message(1, 1, 2, 4, text="other")])
    assert texts(table.seen()) == [(2, "other")]
    table.add([Message(1, 2, 1, 9, text="newer")])
    assert texts(table.seen()) == [(1, "newer"), (2, "other")]


@pytest.mark.thorough
@settings(max_examples=cases(30, drawn=500), **SLOW)
@given(number=st.integers(0, len(WAYS) - 1), data=st.data())
def test_rows_are_exact_when_a_view_follows_merges(number, data):
    check(WAYS[number], data.draw(histories(own_keys=WAYS[number].get("order_by") == "version")), data)
