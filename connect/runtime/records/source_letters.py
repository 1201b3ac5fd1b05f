"""Makes dead letters of sources: each holds a bad row as the connector gave it, as JSON with its schema, for a replay.

Letters are sent as rows are: they are acknowledged before the offset is stored, or are in the same transaction as the
other rows and the offset.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from connect.api.codec import Converter, HeaderConverter
from connect.api.errors import ConnectError
from connect.api.records import Batch, Column, Header
from connect.convert.plain.config import JsonConfig
from connect.kafka.raw import RawBatch
from connect.runtime.records.bad_row_search import isolate
from connect.runtime.records.dead_letter import PREFIX, context
from connect.runtime.records.record_sizes import RecordSizes
from connect.runtime.records.tolerance import BadRow
from connect.runtime.task.task_id import TaskId
from connect.telemetry.secret_texts import SECRET_TEXTS

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT: Final = PREFIX + "source.format"
"""This header says that the letter is a source's, and in which `LetterFormat` it is."""
SOURCE_TOPIC: Final = PREFIX + "source.topic"
"""This header names the topic that the connector gave the row; transforms may have changed it before the row failed."""
SOURCE_PARTITION: Final = PREFIX + "source.partition"
SOURCE_OFFSET: Final = PREFIX + "source.offset"
"""This header holds the position of the batch in which the row came, as JSON: a source resumes behind it."""
SOURCE_HEADERS: Final = PREFIX + "source.headers"
"""This header holds a JSON list with a text for each header of the row: its value and schema as JsonConverter writes
them, or null for a header without a schema. Bytes alone do not tell if `007` was a text.
"""


MOST_TEXT: Final = 10_000
"""A letter in the form TEXT keeps so many characters of a row."""


class LetterFormat(StrEnum):
    """Names the forms in which a source's letter is written."""

    JSON = "json"
    """The letter holds the whole row, as JsonConverter writes it with schemas.enable=true."""
    TEXT = "text"
    """The letter holds the beginning of a row that is too large, or has no form in JSON, or a header without a form in
    bytes. It cannot be replayed.
    """


class SourceDeadLetters:
    """Makes letters of bad rows. Owned by the task thread; the pipeline sets `current`, then takes what was made."""

    def __init__(
        self,
        topic: str,
        task: TaskId,
        headers: HeaderConverter,
        *,
        context_headers: bool,
        sizes: RecordSizes | None = None,
    ) -> None:
        self._sizes = sizes
        self.topic = topic
        self._task = task
        self._headers = headers
        self._context_headers = context_headers
        self._key, self._value = letter_converters()
        self._made: list[RawBatch] = []
        self.current: Batch | None = None

    def add(self, rows: list[BadRow]) -> None:
        """Make a letter of each bad row; `row` of each is its index in `current`."""
        batch = self.current
        if batch is None:
            raise ConnectError(f"No batch is at hand for the dead letter of {rows[0].place}.")
        indices = [row.row for row in rows if row.row is not None]
        chosen = _Chosen(batch.take(indices), rows)
        self._made += isolate(chosen, self._as_json, self._as_text)

    def take(self) -> list[RawBatch]:
        """Return the letters made since the last call, and forget them."""
        made, self._made = self._made, []
        return made

    def _as_json(self, chosen: _Chosen) -> RawBatch:
        batch = chosen.batch
        keys = None if batch.keys is None else self._key.encode(self.topic, batch.keys)
        made = self._letter(chosen, keys, self._value.encode(self.topic, batch.values), LetterFormat.JSON)
        if self._sizes is not None:
            self._sizes.check(made)
        return made

    def _as_text(self, chosen: _Chosen, rows: Mapping[int, Exception]) -> None:
        for i in rows:
            one = chosen.take([i])
            keys = None if one.batch.keys is None else _texts(one.batch.keys)
            self._made.append(self._letter(one, keys, _texts(one.batch.values), LetterFormat.TEXT))

    def _letter(
        self, chosen: _Chosen, keys: pa.BinaryArray | None, values: pa.BinaryArray, form: LetterFormat
    ) -> RawBatch:
        batch = chosen.batch
        headers = batch.headers if batch.headers is not None else [()] * len(batch)
        return RawBatch(
            topic=self.topic,
            values=values,
            keys=keys,
            headers=[
                [
                    *((header.key, self._header(header, form)) for header in own),
                    *(self._context(batch, row, form) if self._context_headers else ()),
                    *(self._typed(own) if self._context_headers and form is LetterFormat.JSON else ()),
                ]
                for own, row in zip(headers, chosen.rows, strict=True)
            ],
            timestamps_ms=batch.timestamps_ms,
        )

    def _header(self, header: Header, form: LetterFormat) -> bytes | None:
        try:
            return self._headers.encode(self.topic, header)
        except Exception:  # this may be the very error that the letter tells of
            if form is LetterFormat.JSON and header.schema is None:
                raise  # a replay would take the text below for the header
            return str(header.value).encode(errors="replace")

    def _typed(self, headers: Sequence[Header]) -> list[tuple[str, bytes | None]]:
        if all(header.schema is None for header in headers):
            return []
        texts = [None if h.schema is None else self._json_of(Column.from_rows([h.value], h.schema)) for h in headers]
        return [(SOURCE_HEADERS, json.dumps(texts).encode())]

    def _json_of(self, value: Column) -> str | None:
        text: bytes | None = self._value.encode(self.topic, value)[0].as_py()
        return None if text is None else text.decode()

    def _context(self, batch: Batch, row: BadRow, form: LetterFormat) -> list[tuple[str, bytes | None]]:
        headers: list[tuple[str, bytes | None]] = [
            *context(self._task, row),
            (FORMAT, form.value.encode()),
            (SOURCE_TOPIC, batch.topic.encode()),
        ]
        if batch.partition is not None:
            headers.append((PREFIX + "partition", str(batch.partition).encode()))
        if batch.position is not None:
            partition = SECRET_TEXTS.hide(json.dumps(batch.position.partition))
            headers.append((SOURCE_PARTITION, partition.encode()))
            headers.append((SOURCE_OFFSET, json.dumps(batch.position.offset).encode()))
        return headers


def letter_converters() -> tuple[Converter, Converter]:
    """Return the converters for the keys and the values of a source's letters."""
    from connect.convert.json.converter import json as json_converter  # loads what only task hosts need

    config = JsonConfig.parse({"schemas.enable": "true", "replace.null.with.default": "false"})
    return json_converter(config, is_key=True), json_converter(config, is_key=False)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Bad rows with what is bad about each; `isolate` cuts both alike."""

    batch: Batch
    rows: list[BadRow]

    def __len__(self) -> int:
        return len(self.rows)

    def slice(self, start: int, stop: int) -> _Chosen:
        return _Chosen(self.batch.slice(start, stop), self.rows[start:stop])

    def take(self, indices: list[int]) -> _Chosen:
        return _Chosen(self.batch.take(indices), [self.rows[i] for i in indices])


def _texts(column: Column) -> pa.BinaryArray:
    import pyarrow as pa

    def text(value: Any) -> bytes | None:
        return None if value is None else repr(value)[:MOST_TEXT].encode(errors="replace")

    return pa.array([text(value) for value in column.rows()], pa.binary())
