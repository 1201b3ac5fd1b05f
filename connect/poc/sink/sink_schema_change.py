"""Shows what a sink does when records have one more field (check 9). The records are copies of its last ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from connect.api import schema as s
from connect.api.errors import ConnectError
from connect.api.records import Column
from connect.kafka.raw import RawBatch
from connect.poc.sandbox.result import SCHEMA_CHANGE, Check, Outcome
from connect.poc.sink.sink_run import SinkRun
from connect.runtime.parts.connector_settings import ConnectorParts

FIELD: Final = "connect_poc_added"
RECORDS: Final = 100


def has_registry(config: Mapping[str, str], worker: Mapping[str, str]) -> bool:
    """Tell if records with another schema would register it in a schema registry. Pure."""
    of_worker = {} if "value.converter" in config else worker
    return any(key.endswith("schema.registry.url") for key in (*config, *of_worker))


def changed_records(parts: ConnectorParts, records: Sequence[RawBatch]) -> list[RawBatch]:
    """Return copies of the records with one more field. ConnectError: their values have no fields."""
    return [_changed(parts, raw) for raw in records]


def _changed(parts: ConnectorParts, raw: RawBatch) -> RawBatch:
    (column, *others) = parts.converters.value.decode(raw.topic, raw.values)
    rows = column.rows()
    has_fields = all(isinstance(row, Mapping) for row in rows)
    if others or not has_fields or (column.schema is not None and column.schema.type is not s.Type.STRUCT):
        raise ConnectError("The values of these records are no rows of one schema.")
    schema = column.schema
    if schema is not None:
        fields = {one.name: one.schema for one in schema.fields} | {FIELD: s.STRING.as_optional()}
        schema = replace(s.struct(fields, name=schema.name), optional=schema.optional)
    wider: list[dict[str, Any]] = [{**row, FIELD: "added"} for row in rows]
    values = parts.converters.value.encode(raw.topic, Column.from_rows(wider, schema))
    return replace(raw, values=values, offsets=None, next_offset=None)


def judge_schema_change(run: SinkRun, written: int, taken: int, expected: int) -> Check:
    """Judge a run over the records and the changed ones behind them. Pure.

    `written` changed records were added, of which the sink has committed `taken`. The target then must have at least
    `expected` rows.
    """
    what = f"{written} records with a field more"
    if run.failure is not None:
        text = f"{what} make the sink fail: {run.failure}"
        return Check(*SCHEMA_CHANGE, Outcome.WARN, text, defects=frozenset({"schema"}))
    lost = expected - run.rows.total()
    if lost > 0 and not run.merges:
        return Check(*SCHEMA_CHANGE, Outcome.FAIL, f"{what}: {lost:,} rows are lost.", defects=frozenset({"lost"}))
    if not taken:
        text = f"None of {what} was committed in {run.watched_s:.0f} s: what the sink does with them is not known."
        return Check(*SCHEMA_CHANGE, Outcome.NOT_TESTED, text)
    waiting = f" {written - taken} of them wait for more rows." if taken < written else ""
    return Check(*SCHEMA_CHANGE, Outcome.PASS, f"{what} are taken.{waiting}")
