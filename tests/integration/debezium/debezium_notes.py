"""Writes notes of an application into PostgreSQL's log, and waits for their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

SETTINGS: Final = {
    "snapshot.mode": "no_data", "table.include.list": "shop.numbers", "message.prefix.exclude.list": "quiet.*",
}  # fmt: skip
MODES: Final[Mapping[str, Mapping[str, str]]] = {
    "bytes": {}, "counted": {"binary.handling.mode": "hex", "provide.transaction.metadata": "true"},
}  # fmt: skip
TRANSACTIONS: Final = (
    ("SELECT pg_logical_emit_message(false, 'beat', 'alone')",),
    (
        "SELECT pg_logical_emit_message(true, 'order', 'within')", "INSERT INTO shop.numbers VALUES (1, 1)",
        "SELECT pg_logical_emit_message(true, 'Quieter', 'not wanted')",
        r"SELECT pg_logical_emit_message(true, 'order', '\x00ff'::bytea)", "INSERT INTO shop.numbers VALUES (2, 2)",
    ),
    ("SELECT pg_logical_emit_message(true, 'order', 'no row beside it')",),
    ("SELECT pg_logical_emit_message(false, 'beat', '')",),
    ("INSERT INTO shop.numbers VALUES (999999, 0)",),
)  # fmt: skip
WANTED: Final = 5
"""The transactions have so many notes whose prefixes are wanted."""


def is_whole(found: Mapping[str, Any]) -> bool:
    """Tell if all notes have come, and the last row."""
    rows = [record["value"]["payload"]["after"]["id"] for record in found.get("shop.numbers", ())]
    return 999999 in rows and len(found.get("message", ())) >= WANTED


def told(records: Sequence[Mapping[str, Any]], *, of_one_log: bool = True) -> list[Any]:
    """Return records without what differs between two runs, or between two logs."""
    made = []
    for record in records:
        payload = record["value"]["payload"]
        source = {**payload["source"], "version": "", "name": ""}
        if source["txId"] is None:
            # Nothing tells when it was written.
            source |= {name: type(source[name]).__name__ for name in ("ts_ms", "ts_us", "ts_ns")}
        else:
            # Debezium names no earlier transaction at its start.
            source["sequence"] = source["sequence"].partition(",")[2]
        # Debezium counts each note as the first of its kind.
        transaction = payload["transaction"] and {**payload["transaction"], "data_collection_order": 1}
        if not of_one_log:
            names = ("ts_ms", "ts_us", "ts_ns", "sequence", "lsn", "txId")
            source |= {name: type(source[name]).__name__ for name in names}
            transaction = transaction and {**transaction, "id": ""}
        value = {**payload, "ts_ms": type(payload["ts_ms"]).__name__, "source": source, "transaction": transaction}
        made.append((record["key"], value, record["value"]["schema"], [name for name, _ in record["headers"]]))
    return made
