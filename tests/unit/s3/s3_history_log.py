"""Draws a log for histories of the S3 sink: versions mixed, unlike schemaless values, gaps, several partitions."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import pyarrow as pa

from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.api.schema import Schema
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig

TOPIC: Final = "t"
TEXTS: Final = ("", "x", "03", "a,b", 'say "it"', "two\nlines", "ü", " ", "true", "null")
SCALARS: Final = (False, True, 0, 1, -7, 2**53 + 1, -(2**63), 0.5, 2.0, -0.25, 1e300, -0.0, *TEXTS)
NESTED: Final = (
    [], [1, 2], [0.5], [True, False], ["x", ""], [2**53 + 1], {"a": 1}, {"a": 0.5}, {"a": True}, {"a": "x", "b": [1]},
    {"b": {"c": False}}, {"b": {"c": 1.5}}, [{"a": 1}], [{"a": False}, {"a": True}],
)  # fmt: skip
BAD: Final = (2**63, [1, "x"], [True, 0.5], [2**53 + 1, 0.5])
"""What no schemaless column of one type holds."""
BAD_FOR_PARQUET: Final = ({}, {"a": {}})
VERSIONS: Final = (
    {"n": s.INT64},
    {"n": s.INT64, "extra": s.STRING.as_optional()},
    {"n": s.STRING},
    {"n": s.FLOAT64, "flag": s.BOOLEAN},
    {"extra": s.STRING.as_optional(), "list": s.array(s.INT64)},
    {"n": s.INT64, "in": s.struct({"a": s.FLOAT64.as_optional(), "b": s.STRING})},
)
PLACES: Final = (None, "", "a/b", "ü", "x=y", "..", "%2F", "V1", " ")
"""Unusual values of the field that paths are made of."""
HEAD: Final = {"o": s.INT64, "p": s.STRING.as_optional()}
"""Fields of every row: its own offset, and the field that paths are made of."""


@dataclass(frozen=True)
class Row:
    """One record. `value` None: a tombstone. `is_bad`: the README says that it goes to the dead letters."""

    offset: int
    time_ms: int
    version: int | None
    value: dict[str, Any] | None
    is_bad: bool = False

    @property
    def schema(self) -> Schema | None:
        return None if self.version is None else s.struct({**HEAD, **VERSIONS[self.version]}, optional=True)


@dataclass(frozen=True)
class Log:
    """The rows of each partition."""

    rows: dict[TopicPartition, list[Row]]

    def batches(self, partition: TopicPartition, polled: Sequence[Row], end: int, *, as_json: bool) -> Iterator[Batch]:
        """What one poll of these rows gives: a batch per run of one schema."""
        runs = [list(run) for _, run in groupby(polled, lambda row: row.version)]
        for run in runs:
            last = run is runs[-1]
            yield from _batches(partition, run, end if last else run[-1].offset + 1, as_json=as_json)

    def end(self, partition: TopicPartition) -> int:
        return self.rows[partition][-1].offset + 1


@dataclass(frozen=True)
class Drawn:
    """What a log is drawn of. `nulls_are_bad`: tombstones go to the dead letters; else they are left out."""

    rows: int
    schemaless: bool
    parquet: bool
    nulls_are_bad: bool


def drawn_log(draw: random.Random, partitions: int, drawn: Drawn) -> Log:
    return Log({TopicPartition(TOPIC, number): list(_rows(draw, drawn)) for number in range(partitions)})


def _rows(draw: random.Random, drawn: Drawn) -> Iterator[Row]:
    offset, time_ms, versions = draw.randrange(3), 1_000_000, draw.sample(range(len(VERSIONS)), 3)
    calm = draw.choice([0.5, 0.9, 0.99])
    version = versions[0]
    places = [f"v{number}" for number in range(3)] * 10 + list(PLACES)
    for _ in range(drawn.rows):
        version = version if draw.random() < calm else draw.choice(versions)
        head = {"o": offset, "p": draw.choice(places)}
        if draw.random() < 0.03:
            yield Row(offset, time_ms, None if drawn.schemaless else version, None, drawn.nulls_are_bad)
        elif drawn.schemaless:
            value, is_bad = _schemaless(draw, calm, parquet=drawn.parquet)
            yield Row(offset, time_ms, None, {**head, **value}, is_bad)
        else:
            fields = {name: _typed(draw, schema) for name, schema in VERSIONS[version].items()}
            yield Row(offset, time_ms, version, {**head, **fields})
        offset += 1 if draw.random() < 0.9 else draw.randint(2, 9)
        time_ms += draw.randrange(40)


def _schemaless(draw: random.Random, calm: float, *, parquet: bool) -> tuple[dict[str, Any], bool]:
    value: dict[str, Any] = {"n": draw.randrange(100)}
    if draw.random() > calm:
        value["n"] = draw.choice([None, *SCALARS])
    if draw.random() > calm:
        value[draw.choice("xyzX")] = draw.choice(draw.choice([SCALARS, NESTED, (None,)]))
    is_bad = draw.random() < 0.02
    if is_bad:
        value["n"] = draw.choice([*BAD, *(BAD_FOR_PARQUET if parquet else ())])
    return value, is_bad


def _typed(draw: random.Random, schema: Schema) -> Any:
    if schema.optional and draw.random() < 0.3:
        return None
    match schema.type:
        case s.Type.INT64:
            return draw.choice([0, 5, -(2**63), 2**53 + 1, draw.randrange(1000)])
        case s.Type.FLOAT64:
            return draw.choice([0.5, 2.0, -1e300, -0.0, float("nan"), float("-inf")])
        case s.Type.BOOLEAN:
            return draw.random() < 0.5
        case s.Type.ARRAY:
            return [draw.randrange(9) for _ in range(draw.randrange(3))]
        case s.Type.STRUCT:
            return {field.name: _typed(draw, field.schema) for field in schema.fields}
    return draw.choice(TEXTS)


def _batches(partition: TopicPartition, run: Sequence[Row], end: int, *, as_json: bool) -> Iterator[Batch]:
    values = [row.value for row in run]
    columns = [Column.from_rows(values, run[0].schema)]
    if as_json and run[0].schema is None:
        converter = JsonConverter(JsonConfig.model_validate({"schemas.enable": "false"}))
        columns = list(converter.decode(TOPIC, pa.array([json.dumps(v).encode() for v in values], pa.binary())))
    at = 0
    for column in columns:
        part = run[at : at + len(column)]
        at += len(column)
        offsets = pa.array([row.offset for row in part], pa.int64())
        times = pa.array([row.time_ms for row in part], pa.int64())
        consumed = Consumed(partition, offsets, end if at == len(run) else part[-1].offset + 1)
        yield Batch(TOPIC, column, timestamps_ms=times, partition=partition.partition, consumed=consumed)
