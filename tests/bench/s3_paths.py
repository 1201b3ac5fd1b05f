"""Measures what many paths cost the S3 sink: CPU per row at 1, 100 and 2,000 of them, one job in a process of its own
each.

The same rows and settings, so only the field of the path differs; to a real store, and without Kafka and conversion,
which cost the same however many paths there are. The gates are of the CPU of one path.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from rich.table import Table

from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connect.tools.services import SeaweedS3Service
from connect.tools.services.s3 import S3Endpoint
from connectors.s3.formats.format_specs import JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.settings.classes import FIELD_PARTITIONER
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkTask
from tests.bench.rows import struct_array

BUCKET = "paths"
FORMATS = {"json": JSON_FORMAT, "parquet": PARQUET_FORMAT}
GATES = {1: None, 100: 2.0, 2000: 4.0}
POLL_ROWS = 4000
POLLS = 16
"""Different polls, which come in turn."""
TP = TopicPartition("rows", 0)


def polls(paths: int) -> list[Column]:
    """Rows of the bench with a field that has so many values."""
    chance = np.random.default_rng(7)
    names = np.array([f"v{number:05d}" for number in range(paths)])
    found = []
    for number in range(POLLS):
        rows = struct_array(POLL_ROWS, number * POLL_ROWS)
        path = pa.array(names[chance.integers(0, paths, POLL_ROWS)])
        fields = [*rows.type, pa.field("path", pa.string(), nullable=False)]
        found.append(Column.from_arrow(pa.StructArray.from_arrays([*rows.flatten(), path], fields=fields)))
    return found


def job(given: dict) -> dict:
    """CPU seconds per million rows, and how many objects they became."""
    endpoint, rows = S3Endpoint(**given["endpoint"]), given["rows"]
    clock_ms = [0]
    task = S3SinkTask(ConfluentPlan(S3SinkConfig.parse(settings(endpoint, given))), now_ms=lambda: clock_ms[0])
    context = FakeSinkContext()
    task.open(context)
    made = polls(given["paths"])
    started_s = 0.0
    for number in range(-1, rows // POLL_ROWS):
        if number == 0:  # the poll before brought in the libraries
            started_s = time.process_time()
        start = (number + 1) * POLL_ROWS
        offsets = pa.array(np.arange(start, start + POLL_ROWS))
        consumed = Consumed(TP, offsets, start + POLL_ROWS)
        task.put(Batch("rows", made[number % POLLS], timestamps_ms=offsets, consumed=consumed), Deadline.after(60))
    clock_ms[0] = 10_000
    while task.flush(Deadline.after(60)).get(TP) != rows + POLL_ROWS:
        pass
    cpu_s = time.process_time() - started_s
    task.close()
    return {"cpu_s_per_mrow": cpu_s / rows * 1e6, "objects": int(context.gauges["objects_created"])}


def settings(endpoint: S3Endpoint, given: dict) -> dict[str, str]:
    return {
        "s3.bucket.name": BUCKET, "s3.region": endpoint.region, "store.url": endpoint.url,
        "aws.access.key.id": endpoint.access_key_id, "aws.secret.access.key": endpoint.secret_access_key,
        "format.class": FORMATS[given["format"]], "topics.dir": f"{given['format']}-{given['paths']}",
        "flush.size": "100000", "rotate.schedule.interval.ms": "1000", "partitioner.class": FIELD_PARTITIONER,
        "partition.field.name": "path",
    }  # fmt: skip


def measure_paths(rows: int) -> Iterator[dict]:
    """Entries of the table, one by one."""
    with SeaweedS3Service() as store:
        store.create_bucket(BUCKET)
        endpoint = {name: getattr(store.endpoint, name) for name in S3Endpoint.__dataclass_fields__}
        for name in FORMATS:
            one: float | None = None
            for paths, gate in GATES.items():
                given = {"endpoint": endpoint, "rows": rows, "format": name, "paths": paths}
                done = subprocess.run(
                    [sys.executable, "-m", "tests.bench.s3_paths", json.dumps(given)],
                    capture_output=True, text=True, check=False, timeout=600,
                )  # fmt: skip
                if done.returncode:
                    raise RuntimeError(f"{name} with {paths} paths failed:\n{done.stderr[-3000:]}")
                found = json.loads(done.stdout.splitlines()[-1])
                one = found["cpu_s_per_mrow"] if one is None else one
                ratio = found["cpu_s_per_mrow"] / one
                yield {"name": f"S3 sink, {name}", "paths": paths, "gate": gate, "ratio": ratio, **found}


def paths_table(entries: list[dict]) -> Table:
    table = Table("name", "paths", "objects", "cpu s/M rows", "to one path", "gate")
    for e in entries:
        gate = "" if e["gate"] is None else f"<= {e['gate']:g} {'met' if e['ratio'] <= e['gate'] else 'MISSED'}"
        row = (e["name"], f"{e['paths']:,}", f"{e['objects']:,}", f"{e['cpu_s_per_mrow']:.2f}", f"{e['ratio']:.2f}")
        table.add_row(*row, gate)
    return table


if __name__ == "__main__":
    sys.stdout.write(json.dumps(job(json.loads(sys.argv[1]))) + "\n")
