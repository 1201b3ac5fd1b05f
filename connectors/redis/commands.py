"""Makes Redis commands from records. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connect.api.errors import SchemaError
from connect.api.optional.rows_of_one_record import RowsOfOneRecord
from connect.api.records import Batch, Record
from connect.api.schema import Schema, Type
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
    seen = RowsOfOneRecord(batch.consumed)
    for row, (key, value) in enumerate(zip(keys, values, strict=True)):
        if row in bad:
            continue
        try:
            record = Record(batch.topic, key, value, key_schema, batch.values.schema)
            found = _commands(target, keyspace, record)
            if target.command not in OF_COLLECTIONS and (why := _lost(seen, row, found)) is not None:
                raise why
            made += [(row, command) for command in found]
        except SchemaError as error:
            bad[row] = error
    return made, bad


def _lost(seen: RowsOfOneRecord, row: int, commands: Sequence[Command]) -> SchemaError | None:
    """Return why commands are not sent that would replace what another row of the same record sets."""
    name = commands[0][1:2]
    if commands[0][0] != "DEL":
        return seen.wrote(row, name)
    seen.deleted(row, name)
    return None


def _commands(target: Target, keyspace: str, record: Record) -> list[Command]:
    """Return the commands of a record; none if it has no value, and there is nothing to delete."""
    value = record.value
    if target.command == "XADD":
        return [] if value is None else [("XADD", keyspace, "*", *_pairs(record))]
    if target.command in OF_COLLECTIONS:
        # The member is the key, as in Java, which asks for a value in a set alone.
        return [("SREM" if value is None and target.command == "SADD" else target.command, keyspace, _key(record))]
    name = (f"{keyspace}{target.separator}".encode() if keyspace else b"") + _key(record)
    if value is None:
        return [("DEL", name)]
    if target.command == "HSET":
        return _of_hash(name, record)
    if target.command == "JSONSET":
        is_json = isinstance(value, str | bytes)
        return [("JSON.SET", name, "$", (_bytes if is_json else _json)(value, record.value_schema))]
    return [("SET", name, _bytes(value, record.value_schema))]


def _of_hash(name: bytes, record: Record) -> list[Command]:
    """Return the commands that set the fields of a hash, and then take out those that are null now.

    A hash that loses its last field is gone with its time to live, so fields are set first.
    """
    nulls = _nulls(record)
    if not nulls:
        return [("HSET", name, *_pairs(record))]
    pairs = _pairs(record) if len(nulls) < len({*record.value, *nulls}) else ()
    out: Command = ("HDEL", name, *nulls)
    return [("HSET", name, *pairs), out] if pairs else [out]


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


def _nulls(record: Record) -> Sequence[str]:
    """Return the names of the fields that are null; a struct may lack those."""
    if not isinstance(record.value, Mapping):
        return ()
    schema = record.value_schema
    fields = [field.name for field in schema.fields] if schema is not None and schema.type is Type.STRUCT else ()
    return [name for name in fields or record.value if record.value.get(name) is None]


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
