"""Makes Debezium's records of the notes that applications write by pg_logical_emit_message. Pure.

Source: Debezium 3's documentation of its PostgreSQL connector, "message events".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from connect.api import schema as s
from connect.api.arrow import arrow_schema, arrow_type
from connect.api.records import Batch, Column
from connect.lib.javatext.regex import compile_pattern
from connectors.jdbc.debezium.texts import in_mode
from connectors.jdbc.log.postgres.notes import Notes
from connectors.jdbc.log.postgres.origins import source_members
from connectors.jdbc.log.postgres.tables import SOURCE
from connectors.jdbc.log.shared.envelope import TRANSACTION_BLOCK, ProvisionalPlaces
from connectors.jdbc.log.shared.source_block import repeated, source_block

_PACKAGE: Final = "io.debezium.connector.postgresql."
_PREFIX = s.STRING.as_optional()
_KEY = replace(s.struct({"prefix": _PREFIX}, name=f"{_PACKAGE}MessageKey"), version=1)


def wanted_prefixes(included: Sequence[str], excluded: Sequence[str]) -> Callable[[str], bool]:
    """Return a function that tells by a note's prefix if it becomes a record. The lists hold regular expressions."""
    patterns = [compile_pattern(f"(?i){pattern}") for pattern in included or excluded]

    def is_wanted(prefix: str) -> bool:
        return not patterns or any(pattern.fullmatch(prefix) for pattern in patterns) is bool(included)

    return is_wanted


class NoteRecords:
    """Makes the records of one connector's notes, in a topic of their own. As in Debezium they have no headers."""

    def __init__(self, topic: str, mode: str, is_wanted: Callable[[str], bool]) -> None:
        """Take the topic. `mode` is binary.handling.mode, and `is_wanted` tells by a prefix if its notes are sent."""
        self._topic = topic
        self._mode = mode
        self._is_wanted = is_wanted
        content = s.BYTES if mode == "bytes" else s.STRING
        self._note = replace(
            s.struct({"prefix": _PREFIX, "content": content.as_optional()}, name=f"{_PACKAGE}Message"), version=1
        )
        members = {
            "op": s.STRING, "ts_ms": s.INT64.as_optional(), "source": SOURCE, "transaction": TRANSACTION_BLOCK,
            "message": self._note,
        }  # fmt: skip
        self._value = replace(s.struct(members, name=f"{_PACKAGE}MessageValue"), version=1)

    def __call__(self, notes: Notes, source: Mapping[str, object], places: ProvisionalPlaces | None) -> Batch | None:
        """Return the records of the notes whose prefixes are wanted, or None if none is."""
        wanted = np.array([self._is_wanted(prefix) for prefix in notes.prefixes], np.bool_)
        if not wanted.any():
            return None
        kept, size, now_us = notes.take(wanted), int(wanted.sum()), time.time_ns() // 1000
        prefixes = pa.array(kept.prefixes, pa.string())
        contents = pa.array([in_mode(content, self._mode) for content in kept.contents], self._content_type)
        columns = [
            pa.repeat(pa.scalar("m"), size),
            pa.repeat(pa.scalar(now_us // 1000, pa.int64()), size),
            source_block(list(arrow_schema(SOURCE)), {**source, **_members(kept, now_us)}, size),
            _transactions(kept, places, wanted),
            pa.StructArray.from_arrays([prefixes, contents], fields=list(arrow_schema(self._note))),
        ]
        values = pa.StructArray.from_arrays(columns, fields=list(arrow_schema(self._value)))
        keys = pa.StructArray.from_arrays([prefixes], fields=list(arrow_schema(_KEY)))
        return Batch(self._topic, Column.from_arrow(values, self._value), keys=Column.from_arrow(keys, _KEY))

    @property
    def _content_type(self) -> pa.DataType:
        return pa.binary() if self._mode == "bytes" else pa.string()


def _members(notes: Notes, now_us: int) -> dict[str, object]:
    """Return the members of the source block. A note that stands alone has no transaction, and no time but now."""
    alone = notes.stands_alone
    at_us = np.where(alone, now_us, notes.origin.commit_us)
    return {
        **source_members(notes.origin), "schema": "", "table": "", "txId": pa.array(notes.origin.xid, mask=alone),
        "ts_ms": at_us // 1000, "ts_us": at_us, "ts_ns": at_us * 1000,
    }  # fmt: skip


def _transactions(notes: Notes, places: ProvisionalPlaces | None, wanted: np.ndarray) -> pa.StructArray:
    kind = arrow_type(TRANSACTION_BLOCK)
    if places is None:
        return repeated(None, kind, len(notes))
    columns = [places.ids.filter(pa.array(wanted)), pa.array(places.orders[wanted]), pa.array(places.numbers[wanted])]
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=pa.array(notes.stands_alone))
