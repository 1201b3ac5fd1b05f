"""Makes Redis commands from records. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connect.api.errors import SchemaError
from connect.api.records import Batch, Record
from connect.api.schema import Schema
from connect.api.values.good_rows import good_rows
from connect.api.values.json_forms import JsonForms, json_of_rows
from connect.api.values.text import scalar_string
from connectors.redis.config import OF_COLLECTIONS, Target

Command = tuple[str | bytes | int, ...]
_FORMS = JsonForms(numeric_decimals=True)


def commands_of(target: Target, batch: Batch) -> tuple[list[tuple[int, Command]], dict[int, Exception]]:
    """Return the commands of the rows, each with the row's index, and the errors of rows that no command can write."""
    made: list[tuple[int, Command]] = []
    keys, bad_keys = good_rows(batch.keys, len(batch))
    values, bad_values = good_rows(batch.values, len(batch))
    bad = bad_keys | bad_values
    key_schema = batch.keys.schema if batch.keys is not None else None
    keyspace = target.keyspace.replace("${topic}", batch.topic)
    for row, (key, value) in enumerate(zip(keys, values, strict=True)):
        if row in bad:
            continue
        try:
            command = _command(target, keyspace, Record(batch.topic, key, value, key_schema, batch.values.schema))
        except SchemaError as error:
            bad[row] = error
        else:
            if command is not None:
                made.append((row, command))
    return made, bad


def _command(target: Target, keyspace: str, record: Record) -> Command | None:
    """Return the command of a record; None if it has no value, and there is nothing to delete."""
    value = record.value
    if target.command in OF_COLLECTIONS:
        if value is None:
            return None
        if target.command == "XADD":
            return ("XADD", keyspace, "*", *_pairs(record))
        return (target.command, keyspace, _bytes(value, record.value_schema))
    name = f"{keyspace}{target.separator}".encode() + _key(record)
    if value is None:
        return ("DEL", name)
    if target.command == "HSET":
        return ("HSET", name, *_pairs(record))
    if target.command == "JSONSET":
        return ("JSON.SET", name, "$", _json(value, record.value_schema))
    return ("SET", name, _bytes(value, record.value_schema))


def _key(record: Record) -> bytes:
    key, schema = record.key, record.key_schema
    if isinstance(key, Mapping) and len(key) == 1:
        key = next(iter(key.values()))
        schema = schema.fields[0].schema if schema is not None and schema.fields else None
    if key is None:
        raise SchemaError("The record has no key, and its key is what it is found by.")
    return _bytes(key, schema)


def _pairs(record: Record) -> Sequence[bytes]:
    """Return the fields of a value and their texts; fields that are null are left out."""
    if not isinstance(record.value, Mapping):
        raise SchemaError("The value has no fields.", key="redis.command", fix="Use SET, or the transform HoistField.")
    schema = record.value_schema
    schemas = {field.name: field.schema for field in schema.fields} if schema is not None and schema.fields else {}
    found = [
        part
        for name, value in record.value.items()
        if value is not None
        for part in (_bytes(name, None), _bytes(value, schemas.get(name)))
    ]
    if not found:
        raise SchemaError("No field of the value has a value.")
    return found


def _bytes(value: Any, schema: Schema | None) -> bytes:
    """Return a value as bytes: bytes and texts as they are, numbers as Java prints them, and all else as JSON."""
    match value:
        case bytes():
            return value
        case str():
            return value.encode()
        case bool() | int() | float():
            return scalar_string(value, schema).encode()
    return _json(value, schema)


def _json(value: Any, schema: Schema | None) -> bytes:
    text: bytes = json_of_rows([value], schema, _FORMS)[0].as_py()
    return text
