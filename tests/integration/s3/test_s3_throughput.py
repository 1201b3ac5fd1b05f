"""Checks how fast and in how much memory rows become Parquet objects; prints the figures."""

from __future__ import annotations

import random
import resource
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from s3_sink_driver import Objects, batch, open_task, properties, soon

from connect.api.records import TopicPartition

ROWS, BATCH_ROWS = 336_776, 4_000
CARRIERS = ["UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E", "WN", "VX"]
AIRPORTS = [f"{a}{b}{c}" for a in "ABCDE" for b in "LMNOP" for c in "RST"]


def flights(rows: int, seed: int) -> pa.StructArray:
    """19 columns like those of the public flights table: 12 whole numbers and doubles, times, and six texts."""
    chance = random.Random(seed)
    ints = {
        name: pa.array([chance.randint(low, high) for _ in range(rows)], pa.int64())
        for name, low, high in (
            ("year", 2013, 2013), ("month", 1, 12), ("day", 1, 31), ("dep_time", 1, 2359), ("sched_dep_time", 1, 2359),
            ("dep_delay", -40, 1300), ("arr_time", 1, 2359), ("sched_arr_time", 1, 2359), ("arr_delay", -86, 1272),
            ("flight", 1, 8500), ("air_time", 20, 695), ("distance", 17, 4983), ("hour", 1, 23), ("minute", 0, 59),
        )
    }  # fmt: skip
    texts = {
        name: pa.array([chance.choice(values) for _ in range(rows)])
        for name, values in (("carrier", CARRIERS), ("origin", AIRPORTS[:3]), ("dest", AIRPORTS))
    }
    tails = pa.array([f"N{chance.randint(100, 999)}{chance.choice(CARRIERS)}" for _ in range(rows)])
    hours = pa.array([1_357_034_400_000 + 3_600_000 * chance.randint(0, 8759) for _ in range(rows)], pa.int64())
    columns = {**ints, **texts, "tailnum": tails, "time_hour": hours.cast(pa.timestamp("ms", tz="UTC"))}
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@pytest.mark.parametrize("codec", ["snappy", "zstd"])
def test_parquet_of_flights_is_fast_and_bounded_in_memory(s3, s3_bucket, unique, codec, capsys):
    objects = Objects(s3, s3_bucket, unique)
    tp = TopicPartition("flights", 0)
    parts = [flights(BATCH_ROWS, seed) for seed in range(16)]
    task = open_task(properties(s3, s3_bucket, unique, flush_size="100000", parquet_codec=codec))
    task.put(batch(tp, parts[0].slice(0, 1), 0), soon())  # the first use of each library is not measured
    before, peak, offset = resident_bytes(), 0, 1
    cpu, wall = time.process_time(), time.monotonic()
    while offset < ROWS:
        rows = min(BATCH_ROWS, ROWS - offset)
        task.put(batch(tp, parts[offset // BATCH_ROWS % 16].slice(0, rows), offset), soon())
        offset += rows
        peak = max(peak, resident_bytes())
    durable = task.flush(soon())
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    size = sum(len(objects.body(key)) for key in objects.names())
    task.close()
    written = sum(objects.table(key).num_rows for key in objects.names())
    with capsys.disabled():
        sys.stdout.write(
            f"\n{codec}: {written / wall:,.0f} rows/s, {cpu / written * 1e6:.2f} cpu s per million rows, "
            f"{(peak - before) / 2**20:.0f} MiB above the start, {size / 2**20:.1f} MiB of objects\n"
        )
    assert durable == {tp: 300_000}
    assert written == 300_000
    assert peak - before < 200 * 2**20
    assert cpu / written < 20e-6, "seconds of CPU a row"
