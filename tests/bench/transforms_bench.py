"""CPU seconds per million rows of a chain of transforms over Arrow batches of 10 000 rows with 12 columns.

Run: python tests/bench/transforms_bench.py
"""

from __future__ import annotations

import sys
import time
from typing import Any

import pyarrow as pa

from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.plugins.catalog import Catalog
from connect.runtime.records.chain import Link, apply_chain
from connect.transforms.plugin import connect_plugins

ROWS, ROUNDS = 10_000, 200
PLUGINS = {p.name.rpartition(".")[2]: p for p in connect_plugins()}
KINDS = (s.INT64, s.INT32, s.FLOAT64, s.STRING.as_optional(), s.BOOLEAN, s.TIMESTAMP_SCHEMA)
COLUMNS = (
    pa.array(range(ROWS), pa.int64()), pa.array(range(ROWS), pa.int32()),
    pa.array([i / 7 for i in range(ROWS)]), pa.array([f"text {i}" for i in range(ROWS)]),
    pa.array([i % 2 == 0 for i in range(ROWS)]), pa.array(range(ROWS), pa.int64()).cast(pa.timestamp("ms", "UTC")),
)  # fmt: skip


def build(name: str, config: dict[str, str]) -> Any:
    return Catalog.load(PLUGINS[name])(PLUGINS[name].config.parse(config))


def batch(tombstone_every: int) -> Batch:
    schema = s.struct({f"c{i}": KINDS[i % 6] for i in range(12)}, optional=True)
    fields = [pa.field(f.name, COLUMNS[i % 6].type, f.schema.optional) for i, f in enumerate(schema.fields)]
    mask = pa.array([bool(tombstone_every) and i % tombstone_every == 0 for i in range(ROWS)])
    array = pa.StructArray.from_arrays([COLUMNS[i % 6] for i in range(12)], fields=fields, mask=mask)
    consumed = Consumed(TopicPartition("t", 0), pa.array(range(ROWS), pa.int64()), ROWS)
    return Batch("t", Column.from_arrow(array, schema), timestamps_ms=COLUMNS[0], partition=0, consumed=consumed)


def fail(*_: object) -> None:
    raise AssertionError("no row may be rejected")


def main() -> None:
    insert = Link(
        "insert", build("InsertField$Value", {"topic.field": "t", "offset.field": "o", "timestamp.field": "ts"})
    )
    rename = Link("rename", build("ReplaceField$Value", {"renames": "c0:id", "exclude": "c1"}))
    drop = Link("filter", build("Filter", {}), build("RecordIsTombstone", {}))
    cast = Link("cast", build("Cast$Value", {"spec": "c0:string,c2:int32,c4:string"}))
    moment = Link("time", build("TimestampConverter$Value", {"field": "c5", "target.type": "unix"}))
    route = Link("route", build("TimestampRouter", {}))
    jobs = {
        "insert + rename": ([insert, rename], 0),
        "insert + rename + filter, no tombstones": ([insert, rename, drop], 0),
        "insert + rename + filter, 1 % tombstones": ([insert, rename, drop], 100), "cast 3 fields": ([cast], 0),
        "timestamp to unix": ([moment], 0), "route by day": ([route], 0),
    }  # fmt: skip
    for name, (links, every) in jobs.items():
        sample = batch(every)
        apply_chain(links, sample, fail)
        started = time.process_time()
        for _ in range(ROUNDS):
            apply_chain(links, sample, fail)
        spent = time.process_time() - started
        sys.stdout.write(f"{name:45} {spent / ROUNDS / ROWS * 1e6:8.4f} cpu s per million rows\n")


if __name__ == "__main__":
    main()
