"""Makes requests of records, by a plan that Confluent's and Aiven's keys both come to. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from connect.api.errors import SchemaError
from connect.api.records import Batch, Column
from connect.api.schema import Schema, Type
from connect.api.values.good_rows import good_rows, good_values
from connect.api.values.json_forms import JsonForms, json_texts
from connect.api.values.text import java_string
from connectors.http.calls.peer import Peer

_FIELD: Final = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True, slots=True)
class Plan:
    """Tells where records are sent, and in which form.

    `path` is appended to the peer's URL; `${topic}`, `${key}` and `${field}` in it are replaced. With `as_json` bodies
    are JSON, else texts; `plain_texts`: a value that is a text is sent as it is even then. A request has `batch_rows`
    records at most. After a status in `retried` it is sent again, `retries` times. `on_null` says what a record without
    a value does: ignore, delete or fail. With `leaves_out` the task goes on without records that the server refuses.
    """

    peer: Peer
    path: str
    method: str = "POST"
    as_json: bool = False
    plain_texts: bool = False
    batch_rows: int = 1
    prefix: str = ""
    separator: str = ","
    suffix: str = ""
    retries: int = 10
    retry_backoff_s: float = 3.0
    retried: Sequence[range] = field(default=(range(400, 600),))
    on_null: str = "ignore"
    leaves_out: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """Holds one request. `rows` are the indices of its records in the batch, in order."""

    method: str
    path: str
    body: bytes | None
    rows: Sequence[int]


def requests_of(plan: Plan, batch: Batch) -> tuple[list[Request], dict[int, Exception]]:
    """Return the requests of a batch, in order, and the rows that no request can hold, each with the reason.

    The same batch gives the same requests.
    """
    made, bad = _bodies(plan, batch)
    requests: list[Request] = []
    waiting: list[tuple[int, bytes | None]] = []
    last: tuple[str, str] | None = None
    for row, method, path, body in made:
        is_alone = body is None or (bool(waiting) and waiting[-1][1] is None)
        if last != (method, path) or len(waiting) == plan.batch_rows or is_alone:
            requests += _joined(plan, last, waiting)
            last, waiting = (method, path), []
        waiting.append((row, body))
    requests += _joined(plan, last, waiting)
    return requests, bad


def statuses(text: str) -> tuple[range, ...]:
    """Return the statuses that a text such as `400-,404,500-503` names. ValueError: it has another form."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = part.partition("-")
        found.append(range(int(first), (int(last) if last else 599 if dash else int(first)) + 1))
    return tuple(found)


def _joined(plan: Plan, to: tuple[str, str] | None, waiting: Sequence[tuple[int, bytes | None]]) -> Iterator[Request]:
    if to is None or not waiting:
        return
    bodies = [body for _, body in waiting if body is not None]
    whole = plan.prefix.encode() + plan.separator.encode().join(bodies) + plan.suffix.encode() if bodies else None
    yield Request(*to, whole, [row for row, _ in waiting])


def _bodies(plan: Plan, part: Batch) -> tuple[list[tuple[int, str, str, bytes | None]], dict[int, Exception]]:
    fields = {*_FIELD.findall(plan.path)}
    keys, bad_keys = good_rows(part.keys if "key" in fields else None, len(part))
    values, bad_values = good_rows(part.values if fields - {"topic", "key"} else None, len(part))
    texts, bad_texts = good_values(part.values, _form(plan, part.values.schema))
    made: list[tuple[int, str, str, bytes | None]] = []
    key_schema = None if part.keys is None else part.keys.schema
    bad = bad_keys | bad_values | bad_texts
    for row, text in enumerate(texts):
        if row in bad:
            continue
        if text is None and plan.on_null == "ignore":
            continue
        if text is None and plan.on_null == "fail":
            bad[row] = SchemaError("The record has no value.")
            continue
        try:
            path = plan.path
            if fields:
                key, value = _Typed(keys[row], key_schema), _Typed(values[row], part.values.schema)
                path = _filled(path, part.topic, key, value)
            made.append((row, plan.method if text is not None else "DELETE", path, text))
        except SchemaError as error:
            bad[row] = error
    return made, bad


def _form(plan: Plan, schema: Schema | None) -> Callable[[Column], Sequence[bytes | None]]:
    if not plan.as_json:
        return _texts
    if not plan.plain_texts:
        return _jsons
    return _plain_texts_and_jsons if schema is None else _texts if schema.type is Type.STRING else _jsons


def _jsons(values: Column) -> Sequence[bytes | None]:
    texts: Sequence[bytes | None] = json_texts(values, JsonForms(numeric_decimals=True)).to_pylist()
    return texts


def _plain_texts_and_jsons(values: Column) -> Sequence[bytes | None]:
    """Return values without a schema as JSON, and those that are texts as they are."""
    rows = values.rows()
    return [row.encode() if isinstance(row, str) else text for row, text in zip(rows, _jsons(values), strict=True)]


def _texts(values: Column) -> Sequence[bytes | None]:
    return [None if value is None else _text(value, values.schema) for value in values.rows()]


def _text(value: Any, schema: Schema | None) -> bytes:
    if isinstance(value, bytes) and (schema is None or schema.type is Type.BYTES):
        return value
    return java_string(value, schema, of_bytes=lambda data: data.decode(errors="replace")).encode()


class _Typed(NamedTuple):
    """Holds a value with its schema, by which a number is printed as Java prints it."""

    value: Any
    schema: Schema | None

    def member(self, name: str) -> _Typed:
        """Return the member of a struct or map with its own schema; a value of None where there is none."""
        value = self.value.get(name) if isinstance(self.value, Mapping) else None
        schema = self.schema
        if schema is not None:
            schema = schema.field(name) if schema.type is Type.STRUCT else schema.items
        return _Typed(value, schema)


def _filled(path: str, topic: str, key: _Typed, value: _Typed) -> str:
    """Return the path with values in place of the `${…}`, escaped, so that none reaches another place.

    A value may be empty in the query alone: before it, an empty key would be the collection of all keys. As none is a
    dot, none can be one with what stands beside it either.
    """
    query_at = path.find("?") if "?" in path else len(path)

    def told(found: re.Match[str]) -> str:
        name = found[1]
        if name in {"topic", "key"}:
            chosen = _Typed(topic, None) if name == "topic" else key
        else:
            chosen = value
            for part in name.split("."):
                chosen = chosen.member(part)
        if chosen.value is None or isinstance(chosen.value, Mapping | list | bytes):
            raise SchemaError(f"The record has no text or number for ${{{name}}} of the URL.", field=name)
        text = java_string(*chosen)
        if text in {".", ".."} or (not text and found.start() < query_at):
            raise SchemaError(f"{text!r} cannot stand for ${{{name}}} in a URL.", field=name)
        return quote(text, safe="")

    return _FIELD.sub(told, path)
