"""Writes source partitions and offsets, member for member as Confluent's connector writes them. Pure.

The order of members is Java 17's HashMap order: Kafka Connect looks partitions up by their bytes. Our own members come
last; Confluent's reader ignores them, so that a roll-back resumes at the same place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from connectors.jdbc.settings.table_choice import TableName

Offset = Mapping[str, object]

QUERY_PARTITION: Final[Mapping[str, object]] = {"query": "query"}
TIE_TIMESTAMP = "tie_timestamp_us"
TIE_KEY = "tie_key"
BULK_LAST_KEY = "bulk_last_key"
BULK_FINISHED_MS = "bulk_pass_finished_ms"
BULK_ROWS = "rows"
INITIAL_READ = "initial_read"
RANGE_FINISHED = "range_finished"
MARK_MEMBERS: Final = ("incrementing", "timestamp", "timestamp_nanos", TIE_TIMESTAMP, TIE_KEY)
SAFE_PASS = "safe_pass"  # noqa: S105 - a pass over a table


def table_partition(table: TableName) -> dict[str, object]:
    """Return the partition of a table, protocol V1."""
    return {"protocol": "1", "table": table.full}


def range_partition(table: TableName, number: int) -> dict[str, object]:
    """Return the partition of one key range of a table's first read."""
    return {"protocol": "1", "table": table.full, "range": number}


def old_table_partition(table: TableName) -> dict[str, object]:
    """Return the partition that connectors before protocol V1 wrote; it is read as a fallback, never written."""
    return {"table": table.name}


def incrementing(last_id: int) -> dict[str, object]:
    """Return the offset of mode=incrementing."""
    return {"incrementing": last_id}


def timestamp(instant_us: int) -> dict[str, object]:
    """Return the offset of mode=timestamp: epoch milliseconds, and the whole fraction of the second in nanoseconds."""
    return {"timestamp_nanos": instant_us % 1_000_000 * 1000, "timestamp": instant_us // 1000}


def timestamp_incrementing(instant_us: int, last_id: int) -> dict[str, object]:
    """Return the offset of mode=timestamp+incrementing."""
    parts = timestamp(instant_us)
    return {
        "timestamp_nanos": parts["timestamp_nanos"],
        "incrementing": last_id,
        "timestamp": parts["timestamp"],
    }


def timestamp_with_tie(finished_us: int, tie_us: int, tie_key: Sequence[object]) -> dict[str, object]:
    """Return the last finished timestamp, and how far rows of the next one, which share it, were delivered."""
    return {**timestamp(finished_us), TIE_TIMESTAMP: tie_us, TIE_KEY: _key_text(tie_key)}


def bulk_progress(last_key: Sequence[object], rows: int) -> dict[str, object]:
    """Return the offset of a pass of mode=bulk that was delivered up to a key."""
    return {BULK_LAST_KEY: _key_text(last_key), BULK_ROWS: rows}


def bulk_finished(finished_ms: int, rows: int) -> dict[str, object]:
    """Return the offset of a pass of mode=bulk that was delivered to its end."""
    return {BULK_FINISHED_MS: finished_ms, BULK_ROWS: rows}


def initial_read(mark: Offset, bounds: Sequence[int]) -> dict[str, object]:
    """Return the offset of a first read that was begun: it reads the rows before `mark` in ranges, which `bounds`
    divide.

    The offset has none of Confluent's members, so that their connector would begin at the first row.
    """
    return {INITIAL_READ: json.dumps({"mark": dict(mark), "bounds": list(bounds)}, separators=(",", ":"))}


def initial_read_of(offset: Offset | None) -> tuple[Offset, tuple[int, ...]] | None:
    """Return the mark and the bounds that `initial_read` was given, or None if the offset is another one."""
    text = (offset or {}).get(INITIAL_READ)
    if not isinstance(text, str):
        return None
    state = json.loads(text)
    return state["mark"], tuple(state["bounds"])


def range_progress(mark: Offset, last_key: Sequence[object]) -> dict[str, object]:
    """Return the offset of a range that was delivered up to a key, in the first read that leads to `mark`."""
    return {INITIAL_READ: _text(mark), BULK_LAST_KEY: _key_text(last_key)}


def range_progress_of(offset: Offset | None, mark: Offset) -> tuple[object, ...] | None:
    """Return the last key that was delivered, or None if the range was not begun.

    A range of another first read counts as not begun.
    """
    return _key_of(offset, BULK_LAST_KEY) if (offset or {}).get(INITIAL_READ) == _text(mark) else None


def range_finished(mark: Offset) -> dict[str, object]:
    """Return the offset of a range that was delivered to its end, in the first read that leads to `mark`."""
    return {RANGE_FINISHED: _text(mark)}


def is_range_finished(offset: Offset | None, mark: Offset) -> bool:
    """Return True if the end of the range, in the first read that leads to `mark`, was stored."""
    return (offset or {}).get(RANGE_FINISHED) == _text(mark)


def _text(mark: Offset) -> str:
    return json.dumps(dict(sorted(mark.items())), separators=(",", ":"))


def safe_pass(
    mark: Offset,
    ended: str | None,
    pass_ended: str | None = None,
    at: Offset | None = None,
    *,
    server: str | None = None,
    table: int | None = None,
) -> dict[str, object]:
    """Return the safe mark in Confluent's members, and behind it what was delivered beyond the mark.

    `ended` describes the transactions whose rows were delivered. `pass_ended` and `at` belong to a pass that was broken
    off: its transactions, and the place up to which it was delivered. `server` names the server that numbered the
    transactions, and `table` is the oid of the table that was read.
    """
    place = None if at is None else dict(at)
    state = {"ended": ended, "pass": pass_ended, "at": place, "server": server, "table": table}
    text = json.dumps({k: v for k, v in state.items() if v is not None}, separators=(",", ":"))
    return {**mark, SAFE_PASS: text}


def safe_pass_of(offset: Offset | None) -> tuple[str | None, str | None, Offset | None]:
    """Return `ended`, `pass_ended` and `at` as `safe_pass` was given them; None for each that is absent."""
    text = (offset or {}).get(SAFE_PASS)
    state = json.loads(text) if isinstance(text, str) else {}
    return state.get("ended"), state.get("pass"), state.get("at")


def safe_server_of(offset: Offset | None) -> str | None:
    """Return the server that numbered the transactions of `safe_pass_of`, or None if an older version stored them."""
    text = (offset or {}).get(SAFE_PASS)
    return json.loads(text).get("server") if isinstance(text, str) else None


def safe_table_of(offset: Offset | None) -> int | None:
    """Return the oid of the table that was read, or None if an older version stored the offset."""
    text = (offset or {}).get(SAFE_PASS)
    return json.loads(text).get("table") if isinstance(text, str) else None


def mark_of(offset: Offset | None) -> Offset | None:
    """Return the offset without the members that `safe_pass` adds to Confluent's, or None if nothing is left."""
    mark = {name: value for name, value in (offset or {}).items() if name != SAFE_PASS}
    return mark or None


def without_key(offset: Offset | None) -> Offset | None:
    """Return the offset without a place among rows in the order of a key: these come again from where they begin."""
    if offset is None:
        return None
    keyed = {BULK_LAST_KEY, TIE_TIMESTAMP, TIE_KEY}
    kept = {name: value for name, value in offset.items() if name not in keyed}
    ended, running, at = safe_pass_of(offset)
    if at is None:
        return kept
    place = {name: value for name, value in at.items() if name not in keyed}
    server, table = safe_server_of(offset), safe_table_of(offset)
    return safe_pass(mark_of(kept) or {}, ended, running, place, server=server, table=table)


def id_of(offset: Offset | None) -> int | None:
    """Return the incrementing member, None when there is none."""
    return _whole(offset, "incrementing")


def instant_us_of(offset: Offset | None) -> int | None:
    """Return the timestamp in epoch microseconds. Finer digits are cut, which may repeat a row and skips none."""
    ms, nanos = _whole(offset, "timestamp"), _whole(offset, "timestamp_nanos")
    if ms is None:
        return None
    return ms * 1000 if nanos is None else ms // 1000 * 1_000_000 + nanos // 1000


def tie_of(offset: Offset | None) -> tuple[int, tuple[object, ...]] | None:
    """Return the unfinished timestamp and the last delivered key in it."""
    instant, last = _whole(offset, TIE_TIMESTAMP), _key_of(offset, TIE_KEY)
    return (instant, last) if instant is not None and last is not None else None


def bulk_key_of(offset: Offset | None) -> tuple[object, ...] | None:
    """Return the last delivered key of an unfinished pass."""
    return _key_of(offset, BULK_LAST_KEY)


def bulk_finished_ms_of(offset: Offset | None) -> int | None:
    """Return when the last pass ended, in epoch milliseconds, or None if it has not ended."""
    return _whole(offset, BULK_FINISHED_MS)


def bulk_rows_of(offset: Offset | None) -> int:
    """Return the number of rows delivered so far of an unfinished pass."""
    return _whole(offset, BULK_ROWS) or 0


def _key_text(key: Sequence[object]) -> str:
    """Return a key as JSON text: members of an offset are primitives (org.apache.kafka.connect.storage.OffsetUtils)."""
    return json.dumps(list(key), separators=(",", ":"), ensure_ascii=False)


def _key_of(offset: Offset | None, member: str) -> tuple[object, ...] | None:
    text = (offset or {}).get(member)
    return tuple(json.loads(text)) if isinstance(text, str) else None


def _whole(offset: Offset | None, member: str) -> int | None:
    value = (offset or {}).get(member)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
