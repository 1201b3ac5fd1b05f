"""Lives of a task without a task: the bookkeeping of files against a bucket in a dict."""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connectors.s3.files.commit_each_path import EachPath
from connectors.s3.files.commit_together import CommonRotation
from connectors.s3.files.intake import Intake
from connectors.s3.files.partition_files import PartitionFiles
from connectors.s3.files.rotation import Rules
from connectors.s3.files.schedule import Schedule
from connectors.s3.formats.compression import Compression
from connectors.s3.formats.parquet import ParquetFormat
from connectors.s3.formats.text import JsonFormat
from connectors.s3.paths.layout import Extent, Layout
from connectors.s3.paths.partitioners import FieldPartitioner
from connectors.s3.paths.timestamps import RecordTime

TP = TopicPartition("t", 3)
SCHEMA = s.struct({"p": s.STRING, "n": s.INT64})


@dataclass(frozen=True)
class Row:
    """Rows of one offset are what a transform made of one record; `number` tells them apart."""

    offset: int
    path: str
    time_ms: int
    number: int


@dataclass
class Bucket:
    """If-None-Match in a dict."""

    objects: dict[str, tuple[Extent, list[int]]] = field(default_factory=dict)

    def runs(self, stem: str) -> list[tuple[int, int]]:
        return [extent.run for key, (extent, _) in self.objects.items() if key.startswith(stem)]

    def numbers(self) -> list[int]:
        return sorted(n for _, numbers in self.objects.values() for n in numbers)


@dataclass
class Life:
    """One life of a task: from the committed offset on until it is dropped."""

    bucket: Bucket
    rules: Rules
    committed: int = 0
    format: object = field(default_factory=lambda: JsonFormat(Compression()))
    is_together: bool = True
    clock_ms: int = 0

    def __post_init__(self) -> None:
        self.layout = Layout("topics", "/", "+", 4, self.format.extension)
        self.intake = Intake(
            self.format,
            FieldPartitioner(("p",), "/"),
            self.layout,
            RecordTime() if self.rules.interval_ms else None,
            counts_bytes=self.rules.size_bytes is not None,
            ignores_nulls=False,
        )
        rotation = CommonRotation(self.rules) if self.is_together else EachPath(self.rules)
        self.files = PartitionFiles(TP, rotation, self.format)
        self.read_to = self.committed

    def successor(self) -> Life:
        """Who reads on from the commit."""
        return Life(self.bucket, self.rules, self.committed, self.format, self.is_together)

    def put(self, rows: list[Row], next_offset: int) -> None:
        self.take(batch(rows, next_offset))
        self.read_to = next_offset

    def take(self, batch: Batch) -> None:
        admission = self.intake.admit(batch)
        assert not admission.bad
        if not self.is_together:
            for place in self.files.reaches.unknown(admission.parts):
                runs = self.bucket.runs(self.layout.chain(place, TP).stem)
                self.files.reaches.learn(place, runs, batch.consumed.offsets[0].as_py())
        for part in admission.parts:
            self.files.take(part, self.clock_ms)

    def end_files(self) -> None:
        """The clock ends all files."""
        self.files.settle()
        self.clock_ms += 10
        self.files.end_due(Schedule(10, None, "UTC"), self.clock_ms)

    def upload(self, at_most: int = 1000) -> None:
        self.files.encode()
        while at_most > 0 and (ready := list(self.files.to_create())):
            for file in ready[:at_most]:
                at_most -= 1
                key = self.layout.key(file.place, TP, file.extent.start_offset)
                if key in self.bucket.objects:
                    self.files.found(file, self.bucket.objects[key][0])
                else:
                    self.bucket.objects[key] = (file.extent, numbers_in(file.body.data, self.format))
                    self.files.created(file)

    def flush(self) -> int:
        self.files.settle()
        self.upload()
        durable = self.files.durable_offset()
        if durable is not None:
            assert durable >= self.committed, "a commit never goes back"
            self.committed = durable
        return self.committed


def numbers_in(data: pa.Buffer, file_format: object) -> list[int]:
    if isinstance(file_format, ParquetFormat):
        return pq.read_table(pa.BufferReader(data))["n"].to_pylist()
    return [orjson.loads(line)["n"] for line in data.to_pybytes().splitlines()]


def batch(rows: list[Row], next_offset: int, topic: str = "t") -> Batch:
    values = pa.array([{"p": r.path, "n": r.number} for r in rows], pa.struct([("p", pa.string()), ("n", pa.int64())]))
    return Batch(
        topic,
        Column.from_arrow(values, SCHEMA),
        timestamps_ms=pa.array([r.time_ms for r in rows], pa.int64()),
        partition=3,
        consumed=Consumed(TP, pa.array([r.offset for r in rows], pa.int64()), next_offset),
    )


def rows(*numbers: int, path: str = "a") -> list[Row]:
    return [Row(n, path, n, n) for n in numbers]
