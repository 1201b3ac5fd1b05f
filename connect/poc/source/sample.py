"""Takes a sample of a source's rows, and compares each row with what comes back from the bytes that Kafka would
hold.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from connect.api.errors import ConnectError, SchemaError
from connect.api.optional.origins import DescribesOrigins, OriginColumn
from connect.api.optional.trial import kept_by
from connect.api.records import Batch, Column
from connect.api.schema import Schema
from connect.lib.deadline import Deadline
from connect.poc.source.page_check import PageComparison, compare_pages
from connect.poc.source.type_forms import in_avro, in_json
from connect.runtime.calls.trial_reading import read_batches
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.records.tolerance import BadRow
from connect.runtime.records.type_words import type_name
from connect.testing.equality import difference

DIFFERENCES: Final = 20
EXAMPLE_CHARS: Final = 80
VALUES_MAX: Final = 500_000
"""At most this many values are compared."""


@dataclass(slots=True)
class FieldTypes:
    """Holds a field's types at each step, and how many of its values changed.

    `source` is its Connect type. `example` is empty unless values are shown.
    """

    field: str
    source: str
    arrow: str
    back: str
    json: str = ""
    avro: str = ""
    rows: int = 0
    nulls: int = 0
    changed: int = 0
    example: str = ""


@dataclass(slots=True)
class Sample:
    """Holds what the sample showed.

    `rows` were read, and `compared_rows` of them compared with what came back: not those of which transforms made
    other records. `differences` describes the first values that came back changed, `refused` the first rows that
    could not be converted. `warnings` are the connector's own. `pages` is None if the size of a page cannot be set.
    `kept` names what the connector would take away from its owner in the source; then nothing was read. `origins`
    has the database's type of each field, and what is kept of it; it is None if the connector cannot tell.
    `unknown_why` says why it could not, if it tried.
    """

    rows: int = 0
    compared_rows: int = 0
    tasks: int = 0
    topics: dict[str, int] = field(default_factory=dict)
    fields: dict[str, FieldTypes] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    refused_rows: int = 0
    warnings: list[str] = field(default_factory=list)
    pages: PageComparison | None = None
    kept: str | None = None
    origins: dict[str, OriginColumn] | None = None
    unknown_why: str = ""


def width_of(batch: Batch) -> int:
    """Return the number of fields of a row; 1 for values without fields."""
    if not len(batch):
        return 1
    first = batch.values.slice(0, 1).rows()[0]
    return max(1, len(first)) if isinstance(first, Mapping) else 1


class _Warnings(logging.Handler):
    """Collects the warnings that the connector logs, each text once."""

    def __init__(self, sample: Sample) -> None:
        super().__init__(logging.WARNING)
        self._sample = sample

    def emit(self, record: logging.LogRecord) -> None:
        """Take a message from `logging` and note it once among the sample's warnings, as long as there are few."""
        text = record.getMessage()
        if text not in self._sample.warnings and len(self._sample.warnings) < DIFFERENCES:
            self._sample.warnings.append(text)


def take_sample(parts: ConnectorParts, rows: int, deadline: Deadline, *, show_values: bool) -> Sample:
    """Open the first tasks of the connector, and compare their rows until there are enough."""
    connector = parts.build_connector()
    if (kept := kept_by(connector)) is not None:
        return Sample(kept=kept)
    sample = Sample()
    logging.getLogger().addHandler(_Warnings(sample))

    def refuse(error: Exception) -> None:
        sample.refused_rows += 1
        note_refusal(sample.refused, error, show_values=show_values)

    def count_tasks(count: int) -> None:
        sample.tasks = count

    _note_origins(connector, sample, deadline)
    values = 0
    for batch in read_batches(parts, rows, deadline, on_refused=refuse, on_tasks=count_tasks):
        # A few rows with thousands of fields say as much as many would, and many would take hours.
        width = width_of(batch)
        part = batch.slice(0, min(len(batch), max(1, (VALUES_MAX - values) // width)))
        _compare(part, parts, sample, show_values=show_values)
        values += len(part) * width
        if values >= VALUES_MAX:
            break
    if sample.rows and values < VALUES_MAX:
        sample.pages = compare_pages(parts, sample.rows, deadline)
    return sample


def _note_origins(connector: object, sample: Sample, deadline: Deadline) -> None:
    """Ask the connector what its database calls the types of its columns."""
    if not isinstance(connector, DescribesOrigins):
        return
    try:
        sample.origins = {f"{one.topic}.{one.field}": one for one in connector.origin_columns(deadline)}
    except ConnectError as error:
        sample.unknown_why = error.message


def _compare(batch: Batch, parts: ConnectorParts, sample: Sample, *, show_values: bool) -> None:
    bad: list[BadRow] = []
    raws = parts.source_pipeline(bad.extend).encode(batch).rows
    sample.refused_rows += len(bad)
    for row in bad:
        note_refusal(sample.refused, row.error, show_values=show_values)
    sample.rows += len(batch)
    sample.topics[batch.topic] = sample.topics.get(batch.topic, 0) + len(batch)
    if len(raws) != 1 or len(raws[0]) != len(batch):
        return  # a transform has made other rows, so there is no value to compare with
    sample.compared_rows += len(batch)
    (raw,) = raws
    at = 0
    given = batch.values.rows()
    for back in parts.converters.value.decode(raw.topic, raw.values):
        run = Column.from_rows(list(given[at : at + len(back)]), batch.values.schema)
        _FieldComparison(batch.topic, run, back, sample, show_values=show_values).compare_rows()
        at += len(back)


def note_refusal(refused: list[str], error: Exception, *, show_values: bool) -> None:
    """Add to `refused` why a row was refused; each text comes once.

    The error's text may have a value of the row. So without `show_values` only its class and its field are added.
    """
    at = f" in field {error.field}" if isinstance(error, SchemaError) and error.field else ""
    bare = f"{type(error).__name__}{at}; --show-values, over REST show_values, tells its text"
    text = str(error) if show_values else bare
    if text not in refused and len(refused) < DIFFERENCES:
        refused.append(text)


class _FieldComparison:
    """Compares the rows of one schema with what came back, field by field."""

    def __init__(self, topic: str, given: Column, back: Column, sample: Sample, *, show_values: bool) -> None:
        self._topic, self._given, self._back, self._sample = topic, given, back, sample
        self._show_values = show_values
        self._arrow = types_of(given.arrow())

    def compare_rows(self) -> None:
        """Compare every field of every row, and note in the sample how each fared."""
        for before, after in zip(self._given.rows(), self._back.rows(), strict=True):
            fields = before if isinstance(before, Mapping) else {"": before}
            came = after if isinstance(after, Mapping) else {"": after}
            for name, value in fields.items():
                self._field(name, value, came.get(name))

    def _field(self, name: str, before: object, after: object) -> None:
        path = f"{self._topic}.{name}" if name else self._topic
        known = self._sample.fields.get(path)
        if known is None:
            types = named_type(self._given.schema, name), self._arrow.get(name, ""), named_type(self._back.schema, name)
            schema = field_schema(self._given.schema, name)
            known = FieldTypes(path, *types, in_json(schema), in_avro(schema))
            self._sample.fields[path] = known
            self._note_members(path)
        known.rows += 1
        known.nulls += before is None
        told = difference(before, after, path)
        if told is not None:
            known.changed += 1
            if len(self._sample.differences) < DIFFERENCES:
                self._sample.differences.append(told if self._show_values else f"{path}: a value came back otherwise")
        elif self._show_values and not known.example and before is not None:
            known.example = str(before)[:EXAMPLE_CHARS]

    def _note_members(self, path: str) -> None:
        """Add the members of a field that are columns of the source, as in an event that contains a row."""
        for inner in self._sample.origins or ():
            if inner.startswith(f"{path}.") and inner not in self._sample.fields:
                names = inner.removeprefix(f"{self._topic}.").split(".")
                found, came = (_at(column.schema, names) for column in (self._given, self._back))
                if found is not None:
                    forms = in_json(found), in_avro(found)
                    self._sample.fields[inner] = FieldTypes(inner, type_name(found), "", type_name(came), *forms)


def _at(schema: Schema | None, names: Sequence[str]) -> Schema | None:
    for name in names:
        schema = None if schema is None else schema.field(name)
    return schema


def types_of(array: Any) -> dict[str, str]:
    """Return the Arrow type of each field, by name; values without fields have the empty name."""
    kind = array.type
    names = [kind.field(i).name for i in range(kind.num_fields)] if str(kind).startswith("struct") else []
    return {name: str(kind.field(i).type) for i, name in enumerate(names)} or {"": str(kind)}


def field_schema(schema: Schema | None, name: str) -> Schema | None:
    """Return the schema of a field; values without fields have the empty name. Return None if there is no such
    field.
    """
    return schema.field(name) if schema is not None and name else schema


def named_type(schema: Schema | None, name: str) -> str:
    """Return the Connect type of a field, or its logical name; `(no schema)` if the values have none."""
    return "(no schema)" if schema is None else type_name(field_schema(schema, name))
