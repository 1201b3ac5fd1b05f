"""Names the table of each record, as Debezium's DefaultCollectionNamingStrategy does. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from connectors.jdbc.sink.debezium.config import DebeziumSinkConfig

_OF_SOURCE: Final = re.compile(r"\$\{source\.(.*?)\}")


class TableNames:
    """Makes texts that name tables, with dots between schema and table."""

    def __init__(self, name_format: str, *, keeps_dots: bool) -> None:
        self._format = name_format
        self._keeps_dots = keeps_dots
        self._fields = list(dict.fromkeys(_OF_SOURCE.findall(name_format)))

    @property
    def are_of_source(self) -> bool:
        """Return True if the name needs the event's source, so that a record that is no event has none."""
        return bool(self._fields)

    def of_topic(self, topic: str) -> str:
        """Return the name, with places of the source's fields left in it."""
        return self._format.replace("${topic}", topic if self._keeps_dots else topic.replace(".", "_"))

    def of_events(self, topic: str, sources: pa.StructArray) -> Sequence[str | None]:
        """Return the name of each event's table, or None if its source lacks what the table is named by."""
        name = self.of_topic(topic)
        found: list[str | None] = [name] * len(sources)
        for field in self._fields:
            values = _texts(sources, field)
            found = [
                None if made is None or value is None else made.replace(f"${{source.{field}}}", value)
                for made, value in zip(found, values, strict=True)
            ]
        return found


def _texts(sources: pa.StructArray, field: str) -> Sequence[str | None]:
    index = sources.type.get_field_index(field)
    if index < 0 or not pa.types.is_string(sources.type.field(index).type):
        return [None] * len(sources)
    values: list[str | None] = pc.struct_field(sources, [index]).to_pylist()
    return values


def named_tables(config: DebeziumSinkConfig) -> Iterator[str]:
    """Yield the tables of the topics that the settings name, as far as the topic alone tells them."""
    names = TableNames(config.name_format, keeps_dots=config.keeps_dots)
    if not names.are_of_source:
        yield from map(names.of_topic, config.named_topics)
