"""Sends rows as they would be after changes of their tables through transforms and converters (check 9 of a source).

The source is only read; schemas go to the sandbox's registry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from connect.api.errors import ConnectError
from connect.api.records import Batch
from connect.api.schema import Type
from connect.lib.deadline import Deadline
from connect.lib.http_client import HttpClient
from connect.poc.sandbox.result import SCHEMA_CHANGE, Check, Outcome, Table
from connect.poc.source.table_changes import Change, changed, changes_of, shown_in, table_of
from connect.runtime.calls.trial_reading import read_batches
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.records.tolerance import BadRow

ROWS: Final = 1000
"""At most this many rows are read to find a few of each topic."""
ROWS_OF_A_TOPIC: Final = 50
TOPICS: Final = 5
_ANSWER_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class ChangeSeen:
    """Tells what became of the rows after a change.

    `breaks` is the member of `Change`. `is_shown` says that a reader of Kafka sees the change. `refused` says why rows
    or their schema were refused; it is None if none were.
    """

    topic: str
    what: str
    breaks: bool
    is_shown: bool
    refused: str | None = None


_CUT: Final = "values that it alone can hold come out as others"
_COLUMNS: Final = ("topic", "change of its table", "what became of the rows")


def judge_source_change(seen: Sequence[ChangeSeen]) -> Check:
    """Judge what became of the changes. A change that breaks readers may be refused; that is only mentioned. Pure."""
    table = Table(
        "Its rows after a change of their table", _COLUMNS, [(one.topic, one.what, _fate(one)) for one in seen]
    )
    refused = [one for one in seen if one.refused is not None]
    harmless = [one for one in refused if not one.breaks]
    if harmless:
        text = (
            f"After {harmless[0].what} in the table of {harmless[0].topic} its rows are refused: {harmless[0].refused}"
        )
        return Check(*SCHEMA_CHANGE, Outcome.WARN, text, (table,), defects=frozenset({"schema"}))
    text = "Rows of a table with a column more, or a wider one, go on through transforms and converters."
    if refused:
        text += f" Refused are those after {', '.join(dict.fromkeys(one.what for one in refused))}."
    return Check(*SCHEMA_CHANGE, Outcome.PASS, text, (table,))


def _fate(seen: ChangeSeen) -> str:
    if seen.refused is not None:
        return f"refused: {seen.refused}"
    return "go on, and show it" if seen.is_shown else "go on, and do not show it"


def try_changes(parts: ConnectorParts, registry_url: str | None, deadline: Deadline) -> list[ChangeSeen]:
    """Try every change on rows of every topic. `registry_url` is the sandbox's registry, or None if it has none.

    ConnectError: the source gives no rows, or the rows have no columns.
    """
    batches = _first_of_topics(parts, deadline)
    if not batches:
        raise ConnectError("Its rows have no schema with columns.")
    for batch in batches:
        _sent(parts, batch)
    if registry_url is not None:
        _require_compatibility(registry_url)
    return [seen for batch in batches for seen in tried(parts, batch)]


def _require_compatibility(registry_url: str) -> None:
    """Let the registry refuse schemas that readers of older ones cannot use, as Confluent's registry does by
    default.
    """
    with HttpClient(timeout_s=_ANSWER_S) as client:
        for subject in json.loads(client.ask("GET", f"{registry_url}/subjects").data):
            answer = client.ask(
                "PUT", f"{registry_url}/config/{quote(subject, safe='')}",
                body=b'{"compatibility": "BACKWARD"}', headers={"Content-Type": "application/json"},
            )  # fmt: skip
            if answer.status != HTTPStatus.OK:
                raise ConnectError(f"The sandbox's registry keeps no rule for {subject}: HTTP {answer.status}.")


def _first_of_topics(parts: ConnectorParts, deadline: Deadline) -> list[Batch]:
    found: dict[str, Batch] = {}
    for batch in read_batches(parts, ROWS, deadline):
        schema = batch.values.schema
        has_columns = schema is not None and schema.type is Type.STRUCT and table_of(schema) is not None
        if has_columns and batch.topic not in found and len(found) < TOPICS:
            found[batch.topic] = batch.slice(0, min(len(batch), ROWS_OF_A_TOPIC))
    return list(found.values())


def tried(parts: ConnectorParts, batch: Batch) -> Iterator[ChangeSeen]:
    """Try every change on rows of one topic."""
    schema = batch.values.schema
    table = None if schema is None else table_of(schema)
    assert table is not None
    keys = batch.keys.schema if batch.keys is not None else None
    named = {one.name for one in keys.fields} if keys is not None else set()
    for change in changes_of(table, named):
        try:
            rows = _sent(parts, replace(batch, values=changed(batch.values, change)))
        except ConnectError as error:
            yield ChangeSeen(batch.topic, change.what, change.breaks, False, str(error))
        else:
            shown = _is_shown(rows, change)
            cut = _CUT if change.must_show and not shown else None
            yield ChangeSeen(batch.topic, change.what, change.breaks, shown, cut)


def _sent(parts: ConnectorParts, batch: Batch) -> list[object]:
    """Return the values that a reader of Kafka would get from a batch. ConnectError: a row is refused."""
    bad: list[BadRow] = []
    raws = parts.source_pipeline(bad.extend).encode(batch).rows
    for row in bad:
        raise row.error if isinstance(row.error, ConnectError) else ConnectError(str(row.error))
    columns = (column for raw in raws for column in parts.converters.value.decode(raw.topic, raw.values))
    return [value for column in columns for value in column.rows() if value is not None]


def _is_shown(rows: list[object], change: Change) -> bool:
    return bool(rows) and all(isinstance(row, Mapping) and shown_in(row, change) for row in rows)
