"""Checks that each row is there once, whatever the store, the clock and the cluster do: formats, rotations, paths and
faults by seeds.
"""

from __future__ import annotations

import csv
import gzip
import io
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import fastavro
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3_http_store import TP, Store, config

from connect.api import schema as s
from connect.api.errors import RetriableError
from connect.api.records import Batch, Column, Consumed, Header
from connect.convert.avro.values import avro_values
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.formats.format_specs import AVRO_FORMAT, CSV_FORMAT, JSON_ARRAY_FORMAT, JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.settings.classes import FIELD_PARTITIONER
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkTask

pytestmark = pytest.mark.thorough

SCHEMA = s.struct({"n": s.INT64, "p": s.STRING}).as_optional()
KEYS = {"store_kafka_keys": "true", "keys_format_class": JSON_FORMAT}
FORMATS: list[dict[str, str]] = [
    {"format_class": PARQUET_FORMAT},
    {"format_class": JSON_FORMAT},
    {"format_class": AVRO_FORMAT},
    {"format_class": JSON_ARRAY_FORMAT, "s3_compression_type": "zstd"},
    {"format_class": CSV_FORMAT, "s3_compression_type": "gzip"},
    {"format_class": PARQUET_FORMAT, **KEYS, "store_kafka_headers": "true", "headers_format_class": PARQUET_FORMAT},
    {"format_class": AVRO_FORMAT, **KEYS, "behavior_on_null_values": "write"},
    {"format_class": JSON_FORMAT, **KEYS, "keys_format_class": AVRO_FORMAT, "store_kafka_headers": "true",
     "behavior_on_null_values": "write"},
]  # fmt: skip
ROTATIONS: list[dict[str, str]] = [
    {"flush_size": "40"},
    {"flush_size": "1000000", "rotate_schedule_interval_ms": "1000"},
    {"flush_size": "90", "rotate_interval_ms": "50", "timestamp_extractor": "Record"},
    {"flush_size": "300", "rotate_idle_ms": "700", "partitioner_max_open_files": "9"},
    {"flush_size": "1000000", "buffer_max_bytes": "30000"},
    {"flush_size": "50", "rotate_size_bytes": "500", "rotate_schedule_interval_ms": "5000"},
]
FAULTS = ["", "", "", "lost answer", "503", "409"]


@dataclass
class Run:
    """Lives of tasks that follow each other, and now and then one that does not know that it is over."""

    store: Store
    seed: int
    paths: int
    rows: int
    settings: dict[str, str]
    committed: int = 0
    clock_ms: int = 0
    zombie: S3SinkTask | None = None
    zombie_reads: int = 0
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.path_of = [f"v{self.chance.randrange(self.paths)}" for _ in range(self.rows)]

    def batch(self, start: int, stop: int) -> Batch:
        offsets = pa.array(range(start, stop), pa.int64())
        nulls = [self.is_tombstone(n) for n in range(start, stop)]
        fields = [pa.field("n", pa.int64(), nullable=False), pa.field("p", pa.string(), nullable=False)]
        rows = pa.StructArray.from_arrays(
            [offsets, pa.array(self.path_of[start:stop], pa.string())], fields=fields, mask=pa.array(nulls, pa.bool_())
        )
        return Batch(
            "t", Column.from_arrow(rows, SCHEMA), timestamps_ms=offsets, consumed=Consumed(TP, offsets, stop),
            keys=Column.from_arrow(offsets, s.INT64), headers=[[Header("n", n)] for n in range(start, stop)],
        )  # fmt: skip

    def is_tombstone(self, number: int) -> bool:
        return "behavior_on_null_values" in self.settings and number % 7 == 3

    def task(self) -> S3SinkTask:
        given = config(
            self.store, partitioner_class=FIELD_PARTITIONER, partition_field_name="p", **self.settings
        )  # fmt: skip
        task = S3SinkTask(ConfluentPlan(given), now_ms=lambda: self.clock_ms)
        task.open(FakeSinkContext(avro_values=avro_values))
        return task

    def put(self, task: S3SinkTask, start: int, stop: int) -> int:
        """What the loop does: the same batch until it is taken."""
        while True:
            try:
                task.put(self.batch(start, stop), Deadline.after(60))
            except RetriableError:
                continue
            return stop

    def flush(self, task: S3SinkTask) -> int:
        try:
            return task.flush(Deadline.after(60)).get(TP, self.committed)
        except RetriableError:
            return self.committed

    def live(self) -> None:
        """One life, from the commit to its death."""
        task, position = self.task(), self.committed
        for _ in range(self.chance.randint(1, 6)):
            self.store.faults = [self.chance.choice(FAULTS) for _ in range(self.chance.randint(0, 6))]
            position = self.put(task, position, min(self.rows, position + self.chance.randint(1, self.rows // 5)))
            self.clock_ms += self.chance.randint(0, 700)
            self.haunt()
            if self.chance.random() < 0.5:
                claimed = self.flush(task)
                assert claimed >= self.committed, "a commit never goes back"
                self.committed = self.chance.choice([self.committed, claimed])
            if position == self.rows:
                break
        if self.zombie is None and self.chance.random() < 0.4:
            self.zombie, self.zombie_reads = task, position
        else:
            task.close()

    def haunt(self) -> None:
        """An old owner writes on, and its commits are refused."""
        if self.zombie is None:
            return
        if self.zombie_reads < self.rows:
            stop = min(self.rows, self.zombie_reads + self.chance.randint(1, 200))
            self.zombie_reads = self.put(self.zombie, self.zombie_reads, stop)
        self.flush(self.zombie)
        if self.chance.random() < 0.3:
            self.zombie.close()
            self.zombie = None

    def finish(self) -> None:
        """A last life, with nothing in its way."""
        if self.zombie is not None:
            self.zombie.close()
        self.settings = {**self.settings, "rotate_schedule_interval_ms": "1000"}
        self.store.faults = []
        task = self.task()
        self.put(task, self.committed, self.rows)
        self.clock_ms += 100_000
        assert task.flush(Deadline.after(60)) == {TP: self.rows}
        task.close()

    def written(self) -> Iterator[int]:
        """The numbers of the rows, told by their values, and by their keys where they have no value."""
        files: dict[str, dict[str, list]] = {}
        for key, (body, _) in self.store.objects.items():
            stem, _, ending = key.rpartition("/")[2].partition(".")
            strand = next((name for name in ("keys", "headers") if ending.startswith(f"{name}.")), "values")
            files.setdefault(f"{key.split('/')[-2]}/{stem}", {})[strand] = read(body, f".{ending}")
        for name, strands in files.items():
            yield from self.numbers(name.partition("/")[0].removeprefix("p%3D"), strands)

    def numbers(self, path: str, strands: dict[str, list]) -> list[int]:
        expected = {"keys"} if "store_kafka_keys" in self.settings else set()
        expected |= {"headers"} if "store_kafka_headers" in self.settings else set()
        if path == "tombstone":
            numbers = [int(key) for key in strands["keys"]]
            assert all(map(self.is_tombstone, numbers))
        else:
            expected |= {"values"}
            assert {row["p"] for row in strands["values"]} == {path}
            numbers = [int(row["n"]) for row in strands["values"]]
            assert [int(key) for key in strands.get("keys", numbers)] == numbers
        assert set(strands) == expected
        for number, headers in zip(numbers, strands.get("headers", ()), strict="headers" in strands):
            assert headers == [{"key": "n", "value": str(number)}]
        return numbers


def read(body: bytes, ending: str) -> list:
    if ending.endswith(".parquet"):
        rows = pq.read_table(io.BytesIO(body)).to_pylist()
        return [row.get("headers", row) for row in rows]
    if ending.endswith(".avro"):
        return list(fastavro.reader(io.BytesIO(body)))
    if ending.endswith(".json.zst"):
        with pa.CompressedInputStream(pa.BufferReader(body), "zstd") as stream:
            return orjson.loads(stream.read())
    if ending.endswith(".csv.gz"):
        return list(csv.DictReader(io.StringIO(gzip.decompress(body).decode())))
    return [orjson.loads(line) for line in body.splitlines()]


def check(store: Store, seed: int, paths: int, rows: int) -> None:
    settings = {**FORMATS[seed % len(FORMATS)], **ROTATIONS[seed // len(FORMATS) % len(ROTATIONS)]}
    run = Run(store, seed, paths, rows, settings)
    while run.committed < rows and run.chance.random() < 0.9:
        run.live()
    run.finish()
    assert sorted(run.written()) == list(range(rows))


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("paths", [1, 27])
def test_each_row_is_in_one_object_whatever_happens(store, seed, paths):
    check(store, seed, paths, 700)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(50))
@pytest.mark.parametrize("paths", [1, 27])
def test_each_of_more_rows_is_in_one_object_whatever_happens(store, seed, paths):
    check(store, 1000 + seed, paths, 5000)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(50))
def test_each_row_of_2000_paths_is_in_one_object_whatever_happens(store, seed):
    check(store, 2000 + seed, 2000, 10_000)
