"""Reads one dead letter from its headers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from connect.kafka.raw import RawBatch
from connect.runtime.records.dead_letter import PREFIX
from connect.runtime.records.source_letters import FORMAT, SOURCE_HEADERS, SOURCE_TOPIC, LetterFormat


class Place(NamedTuple):
    """Tells where a letter is in its dead-letter topic."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}:{self.offset}"


class Identity(NamedTuple):
    """Identifies a letter. A topic that was created anew may have another letter at the same place."""

    place: Place
    timestamp_ms: int | None


@dataclass(frozen=True, slots=True)
class Letter:
    """Describes a dead letter.

    `raw` is the record itself, as a batch of one row. `context` holds the context headers without their prefix.
    """

    place: Place
    raw: RawBatch
    context: Mapping[str, str]

    @property
    def identity(self) -> Identity:
        """Return the identity by which a mark names this letter as replayed."""
        return Identity(self.place, self.timestamp_ms)

    @property
    def connector(self) -> str:
        """Return the name of the connector that gave up the row; empty if the letter does not say."""
        return self.context.get("connector.name", "")

    @property
    def topic(self) -> str:
        """Return the topic that a sink's record was read from, or to which a source's row was to go."""
        own = SOURCE_TOPIC.removeprefix(PREFIX)
        return self.context.get(own) or self.context.get("topic", "")

    @property
    def origin(self) -> str:
        """Return the row's origin as topic-partition@offset, or as the topic alone."""
        partition, offset = self.context.get("partition"), self.context.get("offset")
        return self.topic if partition is None or offset is None else f"{self.topic}-{partition}@{offset}"

    @property
    def stage(self) -> str:
        """Return the stage at which the row failed: VALUE_CONVERTER, TRANSFORMATION, TASK_PUT, …"""
        return self.context.get("stage", "")

    @property
    def component(self) -> str:
        """Return the name of the class that failed."""
        return self.context.get("class.name", "")

    @property
    def error(self) -> str:
        """Return the class and message of the error; empty if the letter does not say."""
        return f"{self.error_class}: {self.context.get('exception.message', '')}" if self.error_class else ""

    @property
    def error_class(self) -> str:
        """Return the name of the class of the error."""
        return self.context.get("exception.class.name", "")

    @property
    def source_format(self) -> LetterFormat | None:
        """Return the format that a source's letter is written in; None for a sink's."""
        given = self.context.get(FORMAT.removeprefix(PREFIX))
        return LetterFormat(given) if given in set(LetterFormat) else None

    @property
    def header_texts(self) -> str:
        """Return what the letter says of the types of a source row's headers; empty if it does not. See
        `SOURCE_HEADERS`.
        """
        return self.context.get(SOURCE_HEADERS.removeprefix(PREFIX), "")

    @property
    def timestamp_ms(self) -> int | None:
        """Return the timestamp of the record; None where it has none."""
        times = self.raw.timestamps_ms
        return None if times is None else times[0].as_py()

    @property
    def key(self) -> bytes | None:
        """Return the record's key."""
        return None if self.raw.keys is None else self.raw.keys[0].as_py()

    @property
    def value(self) -> bytes | None:
        """Return the record's value."""
        value: bytes | None = self.raw.values[0].as_py()
        return value

    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]:
        """Return the row's own headers, with those of an earlier letter that the row was made of."""
        rows = self.raw.headers
        if rows is None:
            return ()
        begin = _context_begin(rows[0])
        return [*rows[0][:begin], *((name, value) for name, value in rows[0][begin:] if not name.startswith(PREFIX))]


def letters_in(raw: RawBatch) -> list[Letter]:
    """Return the letters of a batch read from a dead-letter topic."""
    assert raw.offsets is not None
    found = []
    for i, offset in enumerate(raw.offsets.to_pylist()):
        headers = raw.headers[i] if raw.headers is not None else ()
        context = {
            name.removeprefix(PREFIX): (value or b"").decode(errors="replace")
            for name, value in headers[_context_begin(headers) :]
            if name.startswith(PREFIX)
        }
        found.append(Letter(Place(raw.partition or 0, offset), raw.slice(i, i + 1), context))
    return found


def _context_begin(headers: Sequence[tuple[str, bytes | None]]) -> int:
    """Return where the headers about the failure begin: at the last one that names a topic, behind the row's own."""
    return max((i for i, (name, _) in enumerate(headers) if name == PREFIX + "topic"), default=0)
