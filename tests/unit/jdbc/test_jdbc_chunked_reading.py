"""Rows of a chunk are sent once the log is behind them, but for those that the log told meanwhile; progress follows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from connect.api.errors import ConnectError, RetriableError, SchemaError
from connectors.jdbc.log.incremental.chunked_reading import Chunk, ChunkedReading, UnseenTransactionsError
from connectors.jdbc.log.incremental.progress import Progress, TableProgress, progress_of
from connectors.jdbc.log.incremental.signals import Found, read_signal
from connectors.jdbc.settings.table_choice import TableName

ORDERS, ITEMS = TableName("shop", "orders"), TableName("shop", "items")


class Server:
    """Has rows by table, and gives them as chunks that the log has to come to `high` for."""

    def __init__(self, **rows: Sequence[int]) -> None:
        self.rows = rows
        self.high = 10
        self.parts = 1
        self.error: Exception | None = None
        self.asked: list[TableProgress] = []

    def chunk(self, name: TableName, progress: TableProgress, rows: int) -> Chunk[int] | None:
        self.asked.append(progress)
        if self.error is not None:
            raise self.error
        if name.name not in self.rows:
            return None
        numbers = [n for n in self.rows[name.name] if not progress.after or n > int(progress.after[0])][:rows]
        upto = progress.upto or tuple(str(n) for n in self.rows[name.name][-1:])

        def records(left: Any) -> Any:
            kept = [n for n, keep in zip(numbers, left, strict=True) if keep]
            yield from (kept[i :: self.parts] for i in range(self.parts))

        return Chunk(name.full, [(str(n),) for n in numbers], upto, self.high, records)

    def positioned(self, batch: Any) -> Any:
        return SimpleNamespace(rows=batch, behind=reading_of[self].progress)


reading_of: dict[Server, ChunkedReading[int]] = {}


def _reading(
    server: Server,
    progress: Progress = Progress(),  # noqa: B008 - it is a value
    **given: Any,
) -> ChunkedReading[int]:
    reading = reading_of[server] = ChunkedReading(
        server,  # type: ignore[arg-type]  # its batches are lists
        lambda: [ORDERS, ITEMS],
        progress=progress,
        chunk_rows=3,
        **given,
    )
    return reading


def _told(reading: ChunkedReading[int], type_: str = "execute-snapshot", at: str = "", **data: object) -> None:
    reading.told(["1", type_, json.dumps({"data-collections": [r"shop\.orders"], **data})], at)


def test_rows_wait_for_the_log_and_those_that_it_told_are_dropped():
    reading = _reading(server := Server(orders=[1, 2, 3, 4]))
    _told(reading)
    assert list(reading.step(5)) == []
    assert reading.watches("shop.orders")
    reading.touched([("2",)])
    assert list(reading.step(9)) == []
    (sent,) = reading.step(10)
    assert sent.rows == [1, 3]
    assert sent.behind.tables == (TableProgress("shop.orders", "", ("3",), ("4",)),)
    server.high = 20
    (last,) = reading.step(20)
    assert last.rows == [4]
    assert last.behind.tables == ()
    assert not reading.watches("shop.orders")


def test_what_the_log_told_of_the_chunk_before_says_nothing_of_the_next():
    reading = _reading(Server(orders=[1, 2, 3, 4]))
    _told(reading)
    list(reading.step(0))
    reading.touched([("4",)])
    assert [batch.rows for batch in reading.step(10)] == [[1, 2, 3]]
    assert [batch.rows for batch in reading.step(10)] == [[4]]


def test_the_place_is_moved_with_the_last_part_of_a_chunk():
    reading = _reading(server := Server(orders=[1, 2]))
    server.parts = 2
    _told(reading)
    list(reading.step(0))
    assert [len(batch.behind.tables) for batch in reading.step(10)] == [1, 0]


def test_rows_behind_the_last_key_of_the_beginning_are_left_to_the_log():
    reading = _reading(server := Server(orders=[1, 2, 3, 4]))
    _told(reading)
    list(reading.step(0))
    list(reading.step(10))
    server.rows["orders"] = [1, 2, 3, 4, 5, 6]
    reading = _reading(server, reading.progress)
    list(reading.step(10))
    assert [batch.rows for batch in reading.step(10)] == [[4]]


def test_a_table_that_is_emptied_sends_no_row_of_its_chunk():
    reading = _reading(Server(orders=[1, 2]))
    _told(reading)
    list(reading.step(0))
    reading.emptied("shop.orders")
    assert list(reading.step(10)) == []
    assert reading.progress.tables == ()


def test_a_signal_counts_once_at_its_place():
    reading = _reading(Server(orders=[]))
    _told(reading, at="7/1")
    list(reading.step(0))
    list(reading.step(10))
    again = _reading(Server(orders=[]), progress_of(json.loads(json.dumps(reading.progress.offset()))))
    _told(again, at="7/1")
    assert again.progress.tables == ()
    _told(again, at="7/2")
    assert [one.table for one in again.progress.tables] == ["shop.orders"]


def test_a_signal_that_was_obeyed_asks_for_a_stored_position():
    reading = _reading(Server(orders=[1]))
    _told(reading, "log", message="hello")
    assert not reading.is_unstored
    _told(reading, "pause-snapshot")
    assert reading.is_unstored
    assert reading.progress.is_paused


def test_a_signal_that_comes_once_is_to_be_stored_before_its_table_is_read_and_behind_a_broken_connection():
    signals = [read_signal("1", "execute-snapshot", json.dumps({"data-collections": [r"shop\.orders"]}))]
    reading = _reading(server := Server(orders=[1]), found=lambda _: Found([signals.pop()]) if signals else Found())
    server.error = RetriableError("the server went away")
    assert list(reading.step(0)) == []
    assert reading.is_unstored, "the position that holds the signal is given before the table is read"
    with pytest.raises(RetriableError):
        list(reading.step(0))
    again = _reading(server, reading.progress, is_unstored=reading.is_unstored)
    assert again.is_unstored
    assert [one.table for one in again.progress.tables] == ["shop.orders"]


def test_an_offset_of_debezium_in_the_midst_begins_its_tables_again():
    listed = [{"incremental_snapshot_collections_id": "shop.items"}]
    found = progress_of({"incremental_snapshot_collections": json.dumps(listed)})
    assert found.tables == (TableProgress("shop.items"),)
    with pytest.raises(ValueError, match="Expecting"):
        progress_of({"incremental_snapshots": "{"})


def test_a_chunk_that_cannot_be_read_ends_its_table_and_one_that_cannot_now_does_not(caplog: pytest.LogCaptureFixture):
    reading = _reading(server := Server(orders=[1]))
    _told(reading)
    server.error = RetriableError("later")
    with pytest.raises(RetriableError):
        list(reading.step(0))
    assert reading.progress.tables
    server.error = ConnectError("no such column")
    list(reading.step(0))
    assert reading.progress.tables == ()
    assert "Table shop.orders is not read again. no such column" in caplog.text


def test_a_chunk_that_lacks_a_transaction_of_the_log_is_read_anew_soon_and_told_once_if_it_lasts(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    now_s = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    reading = _reading(server := Server(orders=[1, 2, 3, 4, 5]))
    _told(reading)
    for number, (later_s, asked) in enumerate(
        [(0.0, 1), (0.01, 1), (0.03, 2), (0.03, 2), (0.03, 3), (9.0, 4), (0.1, 4)]
    ):
        now_s[0] += later_s
        server.error = UnseenTransactionsError(f"0-1-{number}")
        assert list(reading.step(10)) == []
        assert len(server.asked) == asked
        assert bool(caplog.records) == (asked == 4)
    assert not reading.watches("shop.orders")
    server.error = None
    now_s[0] += 0.2
    assert list(reading.step(5)) == []
    server.error = UnseenTransactionsError("0-1-9")
    assert [batch.rows for batch in reading.step(10)] == [[1, 2, 3]]
    for _ in range(40):
        now_s[0] += 0.5
        assert list(reading.step(20)) == []
    told = [record.getMessage().split(",")[0] for record in caplog.records]
    assert told == ["Table shop.orders is read again once it shows transaction 0-1-5"]


def test_data_that_are_nested_too_deeply_make_no_signal():
    with pytest.raises(SchemaError, match="The data of signal '1' are no JSON"):
        read_signal("1", "execute-snapshot", "[" * 100_000)


def test_a_signal_that_stops_the_table_drops_its_chunk():
    reading = _reading(Server(orders=[1, 2]))
    _told(reading)
    list(reading.step(0))
    _told(reading, "stop-snapshot")
    assert list(reading.step(10)) == []
    assert not reading.watches("shop.orders")


def test_conditions_go_with_their_table():
    signal = read_signal("1", "execute-snapshot", json.dumps({
        "data-collections": [".*"], "additional-conditions": [{"data-collection": "shop.items", "filter": "n > 1"}],
        "additional-condition": "m = 1",
    }))  # fmt: skip
    assert (signal.condition("shop.items"), signal.condition("shop.orders")) == ("n > 1", "m = 1")
