"""Estimates how long reading all the data takes, how large they are and what they cost, and shows the formulas (check
10).

The figures come from what was measured. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from connect.poc.sandbox.prices import Prices
from connect.poc.sandbox.result import Check, Outcome, Table

LOAD: Final = (10, "Load and cost")
REPLICAS: Final = 3
LANES: Final = 4
"""A backfill writes this many chunks at a time; this is the default of `connect.backfill.job.spec`."""
_HOUR_S: Final = 3600.0
_GB: Final = 1e9


@dataclass(frozen=True, slots=True)
class Load:
    """Holds the figures that were measured of a source.

    `rows` is the number of rows that it has; `is_exact` says that all of them were read, so the number is no estimate.
    `row_bytes` is the size of a row in Kafka. `rate`, `slowest` and `fastest` are rows per second: of the whole run,
    and of its slowest and fastest third. `chunks` is the number of chunks of a bulk read; None if it was not planned.
    """

    rows: int
    is_exact: bool
    row_bytes: float
    rate: float
    slowest: float
    fastest: float
    tasks: int
    chunks: int | None = None


def judge_load(load: Load, prices: Prices, warnings: Sequence[str] = ()) -> Check:
    """Return the check that estimates all rows, with the warnings of the source's own plan."""
    if not load.rows or not load.rate:
        return Check(*LOAD, Outcome.NOT_TESTED, "Too few rows came to tell a rate.")
    size_gb = load.rows * load.row_bytes / _GB
    kafka_gb = size_gb * REPLICAS
    hours = load.rows / load.rate / _HOUR_S
    about = "" if load.is_exact else "about "
    rows = [
        ("rows of the source", "counted" if load.is_exact else "the source's own estimate", f"{about}{load.rows:,}"),
        ("bytes in Kafka", f"rows x {load.row_bytes:,.0f} bytes x {REPLICAS} replicas", f"{kafka_gb:,.3f} GB"),
        (
            "first read by the connector", f"rows / {load.rate:,.0f} rows a second, {load.tasks} tasks",
            f"{_span(load.rows / load.fastest)} to {_span(load.rows / load.slowest)}",
        ),
        *_backfill(load, prices),
        (
            "Kafka's storage", f"GB x {prices.kafka_gb_month:g} {prices.currency}",
            f"{kafka_gb * prices.kafka_gb_month:,.2f} {prices.currency} a month",
        ),
        (
            "the target's storage", f"GB / {REPLICAS} x {prices.target_gb_month:g} {prices.currency}, uncompressed",
            f"{size_gb * prices.target_gb_month:,.2f} {prices.currency} a month",
        ),
    ]  # fmt: skip
    tables = [Table("Estimate", ("what", "formula", "result"), rows)]
    if warnings:
        tables.append(Table("What the plan warns of", ("warning",), [(text,) for text in warnings]))
    text = (
        f"{about}{load.rows:,} rows, {kafka_gb:,.3f} GB in Kafka, {_span(hours * _HOUR_S)} at the rate of this machine."
    )
    figures = {"rows": load.rows, "kafka_gb": kafka_gb, "first_read_hours": hours}
    if load.chunks is not None:
        figures["chunks"] = load.chunks
    return Check(*LOAD, Outcome.PASS, text[:1].upper() + text[1:], tables, figures=figures)


def _backfill(load: Load, prices: Prices) -> list[tuple[str, str, str]]:
    if load.chunks is None:
        return []
    lanes = max(1, min(LANES, load.chunks))
    rate = load.rate / max(1, load.tasks)
    seconds = load.rows / rate
    compute = seconds / _HOUR_S * prices.core_hour
    return [
        (
            "backfill on Spark", f"rows / {rate:,.0f} a second and lane, {load.chunks:,} chunks",
            f"{_span(seconds / lanes)} with {lanes} lanes that do not hold each other up, {_span(seconds)} with one",
        ),
        (
            "its compute", f"hours of cores x {prices.core_hour:g} {prices.currency}",
            f"{compute:,.2f} {prices.currency} once",
        ),
    ]  # fmt: skip


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 1 else "less than 1 s"
    return f"{seconds / 60:.0f} min" if seconds < 2 * _HOUR_S else f"{seconds / _HOUR_S:,.1f} h"
