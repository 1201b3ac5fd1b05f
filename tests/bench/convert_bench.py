"""Measures rows a second and CPU seconds per million rows of the JSON converter: `python tests/bench/convert_bench.py
[rows]`.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from connect.api import schema as s
from connect.api.records import Column
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig

BATCH_ROWS = 10_000
SCHEMA = s.struct(
    {
        "order_id": s.INT64, "customer_id": s.INT64, "quantity": s.INT32, "status_code": s.INT32,
        "price": s.FLOAT64, "discount": s.FLOAT64, "sku": s.STRING, "country": s.STRING, "email": s.STRING,
        "note": s.STRING.as_optional(), "active": s.BOOLEAN, "created": s.TIMESTAMP_SCHEMA,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    """One step over all batches; the cpu time is that of the whole process."""

    name: str
    rows_per_s: float
    cpu_s_per_million: float


def batches(rows: int) -> list[Column]:
    """Orders of twelve fields, about 230 bytes of JSON each, in batches of 10 000."""
    from connect.api.arrow import arrow_type

    rng = random.Random(7)
    made = []
    for start in range(0, rows, BATCH_ROWS):
        values = [
            (i, rng.randrange(10**9), rng.randrange(100), rng.randrange(600), rng.random() * 1000,
             round(rng.random(), 3), f"SKU-{rng.randrange(10**6):06}", rng.choice(("DE", "FR", "US")),
             f"user{rng.randrange(10**6)}@example.com", f"note {i}" if i % 3 else None, i % 2 == 0,
             1_700_000_000_000 + i)
            for i in range(start, min(start + BATCH_ROWS, rows))
        ]  # fmt: skip
        target = arrow_type(SCHEMA)
        arrays = [pa.array(column, field.type) for column, field in zip(zip(*values, strict=True), target, strict=True)]
        made.append(Column.from_arrow(pa.StructArray.from_arrays(arrays, fields=list(target)), SCHEMA))
    return made


def measure(name: str, rows: int, step: Callable[[], Any], repeats: int = 3) -> Measured:
    """The best of some runs."""
    best = Measured(name, 0.0, float("inf"))
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), _cpu_s()
        step()
        wall, cpu = time.perf_counter() - wall, _cpu_s() - cpu
        if cpu * 1e6 / rows < best.cpu_s_per_million:
            best = Measured(name, rows / wall, cpu * 1e6 / rows)
    return best


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def run(rows: int = 200_000) -> list[Measured]:
    """Encode and decode, with and without the envelope, into Arrow and into rows."""
    columns = batches(rows)
    results = []
    for enable in ("false", "true"):
        converter = JsonConverter(JsonConfig.parse({"schemas.enable": enable}))
        data = [converter.encode("orders", column) for column in columns]
        label = "envelope" if enable == "true" else "schemaless"
        results.append(measure(f"encode {label}", rows, lambda c=converter: [c.encode("orders", x) for x in columns]))
        results.append(
            measure(f"decode {label} to Arrow", rows, lambda c=converter, d=data: [
                column.arrow() for x in d for column in c.decode("orders", x)
            ])
        )  # fmt: skip
        results.append(
            measure(f"decode {label} to rows", rows, lambda c=converter, d=data: [
                len(column.rows()) for x in d for column in c.decode("orders", x)
            ], repeats=1)
        )  # fmt: skip
    return results


if __name__ == "__main__":
    for measured in run(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000):
        sys.stdout.write(
            f"{measured.name:32} {measured.rows_per_s:12,.0f} rows/s {measured.cpu_s_per_million:6.2f} cpu s/M\n"
        )
