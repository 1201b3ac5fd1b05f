"""What lies in a bucket against what was sent: values, columns, order and metadata of each object, read by others."""

from __future__ import annotations

import csv
import io
import json
import math
import struct
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from s3_history_log import Log, Row

from connect.api.arrow import arrow_schema
from connect.api.records import TopicPartition


@dataclass(frozen=True)
class StoredRows:
    """One object: its rows as its format gives them, and the names of its columns, None where it has none."""

    key: str
    rows: list[dict[str, Any]]
    columns: list[str] | None
    arrow: pa.Schema | None = None


def stored_rows(key: str, body: bytes) -> StoredRows:
    if key.endswith(".parquet"):
        table = pq.read_table(io.BytesIO(body))
        return StoredRows(key, table.to_pylist(), table.schema.names, table.schema)
    if key.endswith(".avro"):
        reader = fastavro.reader(io.BytesIO(body))
        assert isinstance(reader.writer_schema, dict)
        return StoredRows(key, list(reader), [field["name"] for field in reader.writer_schema["fields"]])
    if key.endswith(".csv"):
        lines = csv.DictReader(io.StringIO(body.decode(), newline=""))
        return StoredRows(key, list(lines), list(lines.fieldnames or ()))
    return StoredRows(key, [json.loads(line) for line in body.split(b"\n") if line], None)


def check_object(
    log: Log, stored: StoredRows, metadata: dict[str, str], *, merges: bool = False
) -> list[tuple[TopicPartition, int]]:
    """The offsets that an object holds. AssertionError: it is not what the README promises."""
    told = {name.lower().removeprefix("x-amz-meta-kconnect-"): value for name, value in metadata.items()}
    partition = TopicPartition(told["topic"], int(told["partition"]))
    offsets = [int(row["o"]) for row in stored.rows]
    assert offsets == sorted(offsets), f"{stored.key}: offsets in disorder {offsets}"
    extent = (int(told["start-offset"]), int(told["last-offset"]), int(told["rows"]))
    assert extent == (offsets[0], offsets[-1], len(offsets)), f"{stored.key}: metadata {extent}, rows {offsets}"
    sent = {row.offset: row for row in log.rows[partition]}
    own = [sent[offset] for offset in offsets]
    _check_columns(stored, own, merges=merges)
    for row, kept in zip(own, stored.rows, strict=True):
        assert row.value is not None and not row.is_bad, f"{stored.key} holds a row that is refused: {row}"  # noqa: PT018
        _check_path(stored.key, partition, row)
        for name in {*row.value, *kept}:
            is_same = is_kept(row.value.get(name), kept.get(name), is_text=stored.key.endswith(".csv"))
            left_out = stored.columns is not None and name not in stored.columns and row.value[name] == []
            assert is_same or left_out, f"{stored.key}, offset {row.offset}: {row.value} became {kept}"
    return [(partition, offset) for offset in offsets]


def _check_path(key: str, partition: TopicPartition, row: Row) -> None:
    assert row.value is not None
    told = unquote(unquote(key.split("/")[-2]))  # by HTTP, and by Hive
    places = {f"partition={partition.partition}", f"p={row.value['p'] or '__HIVE_DEFAULT_PARTITION__'}"}
    assert told in places, f"{row} is in {key}"


def _check_columns(stored: StoredRows, own: list[Row], *, merges: bool) -> None:
    """With a schema a file has the one of its rows; schemaless ones have columns of their own alone.

    `merges`: files that are open together are widened, so one may have a column that rows of other paths gave it.
    """
    if stored.columns is None:
        return
    schema = own[0].schema
    if schema is None:
        named = {name for row in own for name, value in row.value.items() if value is not None}
        assert set(stored.columns) <= named, f"{stored.key} has the columns {stored.columns}, its rows {named}"
        return
    versions = {row.version for row in own}
    if merges:
        named = {field.name for row in own for field in row.schema.fields}
        assert set(stored.columns) >= named, f"{stored.key} has the columns {stored.columns}, its rows {named}"
        return
    assert len(versions) == 1 or stored.key.endswith(".csv"), f"{stored.key} has rows of the versions {versions}"
    assert stored.columns == [field.name for field in schema.fields], f"{stored.key} has the columns {stored.columns}"
    if stored.arrow is not None:
        wanted = arrow_schema(schema)
        assert [f.type for f in stored.arrow] == [f.type for f in wanted], f"{stored.key} has {stored.arrow}"


def is_kept(sent: Any, kept: Any, *, is_text: bool = False) -> bool:
    """The same value: a whole number may be a double that equals it, a null of a struct a member that is not there."""
    if is_text:
        return _is_kept_as_text(sent, kept)
    if isinstance(sent, bool) or isinstance(kept, bool):
        return sent is kept
    if isinstance(sent, dict) and isinstance(kept, dict):
        return all(is_kept(sent.get(name), kept.get(name)) for name in {*sent, *kept})
    if isinstance(sent, list) and isinstance(kept, list):
        return len(sent) == len(kept) and all(map(is_kept, sent, kept))
    if isinstance(sent, float) and isinstance(kept, str):  # JSON has no numbers for these: Java writes texts
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(sent, "NaN" if math.isnan(sent) else None) == kept
    if isinstance(sent, float) and isinstance(kept, float):
        return struct.pack("d", sent) == struct.pack("d", kept)
    if isinstance(sent, int | float) and isinstance(kept, int | float):
        return sent == kept
    return type(sent) is type(kept) and bool(sent == kept)


def _is_kept_as_text(sent: Any, cell: str | None) -> bool:
    if sent is None:
        return cell in {None, ""}
    assert cell is not None
    if isinstance(sent, bool):
        return cell == str(sent).lower()
    if isinstance(sent, int):
        return ("." in cell and float(cell) == sent) or (cell.lstrip("-").isdigit() and int(cell) == sent)
    if isinstance(sent, float):
        return struct.pack("d", float(cell)) == struct.pack("d", sent)
    return cell == sent if isinstance(sent, str) else is_kept(sent, json.loads(cell))
