"""Follows one row through a chain of transforms, and shows what each makes of it, without secrets."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from connect.api.records import Batch, Column
from connect.runtime.records.chain import Link, apply_chain
from connect.runtime.records.type_words import type_name
from connect.telemetry.secret_texts import SECRET_TEXTS

VALUE_CHARS: Final = 4000
FIELDS: Final = 200
RECORDS: Final = 20
"""At most so many of the records that a transform makes of one row are shown."""
Steps = list[dict[str, Any]]


class NamedLink(NamedTuple):
    """Holds a transform, and the alias that the configuration gives it."""

    alias: str
    link: Link


def steps_of(row: Batch, links: Sequence[NamedLink]) -> Steps:
    """Return the row as it was read, then what each transform makes of it, up to one that refuses or drops it.

        Each step has `name`, `plugin` and `records`; `more` is the number of records left out. A step that refuses the
    row has its `error`.
    """
    batches = [row]
    steps = [_step("read", "", batches)]
    for alias, link in links:
        errors: list[Exception] = []
        batches = _applied(link, batches, errors)
        if errors:
            return [*steps, refused_step(alias, link.name, errors[0])]
        steps.append(_step(alias, link.name, batches))
        if not batches:
            break
    return steps


def refused_step(name: str, plugin: str, error: Exception) -> dict[str, Any]:
    """Return the step that refuses a row, and why."""
    why = SECRET_TEXTS.shown(f"{type(error).__name__}: {error}")
    return {"name": name, "plugin": plugin, "records": [], "more": 0, "error": _cut(why)}


def _applied(link: Link, batches: Sequence[Batch], errors: list[Exception]) -> list[Batch]:
    def reject(name: str, batch: Batch, rows: Mapping[int, Exception]) -> None:
        del name, batch
        errors.extend(rows.values())

    return [made for batch in batches for made in apply_chain([link], batch, reject)]


def _step(name: str, plugin: str, batches: Sequence[Batch]) -> dict[str, Any]:
    count = sum(map(len, batches))
    records = [record for batch in batches for record in _records(batch)][:RECORDS]
    return {"name": name, "plugin": plugin, "records": records, "more": count - len(records), "error": None}


def _records(batch: Batch) -> Iterator[dict[str, Any]]:
    keys = [None] * len(batch) if batch.keys is None else batch.keys.rows()
    times = [None] * len(batch) if batch.timestamps_ms is None else batch.timestamps_ms.to_pylist()
    headers: Sequence[Any] = [()] * len(batch) if batch.headers is None else batch.headers
    for key, value, time_ms, named in zip(keys, batch.values.rows(), times, headers, strict=True):
        yield {
            "topic": SECRET_TEXTS.shown(batch.topic), "key": _text(key), "value": _text(value), "timestamp_ms": time_ms,
            "headers": {SECRET_TEXTS.shown(header.key): _text(header.value) for header in named},
            "types": _types(batch.values),
        }  # fmt: skip


def _types(values: Column) -> dict[str, str]:
    """Return the type of each field in words; a value without fields has the empty name. Return {} without a schema."""
    schema = values.schema
    if schema is None:
        return {}
    if not schema.fields:
        return {"": type_name(schema)}
    return {SECRET_TEXTS.shown(field.name): type_name(field.schema) for field in schema.fields[:FIELDS]}


def _text(value: object) -> str:
    """Return a value as JSON, in which no secret of the connector is shown."""
    try:
        text = json.dumps(value, default=_other, ensure_ascii=False)
    except TypeError:
        text = str(value)  # JSON has no map whose keys are no texts
    return _cut(SECRET_TEXTS.shown(text))


def _other(value: object) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARS else f"{text[: VALUE_CHARS - 1]}…"
