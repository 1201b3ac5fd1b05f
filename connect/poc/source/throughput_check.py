"""Judges how fast the run without faults was, where its time went, and if the source kept up (check 7). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from connect.poc.sandbox.result import Chart, Check, Outcome, Table
from connect.poc.sandbox.timeline import STEPS, Reading, growing_lag_s, lags_s, percentiles, rate, shares
from connect.poc.source.source_run import SourceRun

THROUGHPUT: Final = (7, "Throughput")


def judge_throughput(run: SourceRun, rows: int, size_bytes: int) -> Check:
    """Judge a source's run that wrote `rows` rows of together `size_bytes`."""
    if run.failure is not None:
        return Check(*THROUGHPUT, Outcome.FAIL, f"The connector failed: {run.failure}")
    if not rows:
        return Check(*THROUGHPUT, Outcome.NOT_TESTED, "No row reached Kafka in time.")
    measured = rate(run.readings)
    a_second = f"{measured:,.0f}" if measured else "too few rows to tell"
    numbers = (f"{rows:,}", f"{size_bytes / 1e6:,.1f} MB", f"{run.seconds:.1f} s", a_second, f"{run.tasks}")
    columns = ("rows", "bytes", "first to last", "rows a second after the warm-up", "tasks")
    tables = [Table("A run without faults", columns, [numbers]), *latency_of(run.readings), *steps_of(run.readings)]
    grown = growing_lag_s(run.readings)
    if grown is not None and not run.is_complete:
        text = (
            f"The source falls behind: its newest row was {grown[0]:.1f} s old at first and {grown[1]:.1f} s at last."
        )
        return Check(*THROUGHPUT, Outcome.FAIL, text, tables, defects=frozenset({"lag"}))
    bound = "" if run.is_complete else " It ended at its bound, not at the end of the data."
    pace = f"{a_second} a second on this machine" if measured else "too few to tell a rate"
    text = f"{rows:,} rows, {pace}.{bottleneck_of(run.readings)}{bound}"
    figures = {"rows_per_second": measured, "megabytes_per_second": measured * size_bytes / rows / 1e6}
    return Check(
        *THROUGHPUT, Outcome.PASS, text, tables, charts=charts_of(run.readings),
        figures={**figures, **latency_figures(run.readings)},
    )  # fmt: skip


def latency_figures(readings: Sequence[Reading]) -> dict[str, float]:
    """Return the numbers of `latency_of`, by name; empty if the connector tells no lag."""
    found = percentiles(lags_s(readings))
    return {} if found is None else dict(zip(("age_p50_s", "age_p95_s", "age_p99_s"), found, strict=True))


def charts_of(readings: Sequence[Reading]) -> list[Chart]:
    """Return the charts of rate and lag over time, as far as they are known."""
    rates = [
        (later.at_s, (later.rows - before.rows) / (later.at_s - before.at_s))
        for before, later in pairwise(readings)
        if later.at_s > before.at_s
    ]
    ages = [
        (reading.at_s, reading.figures[name])
        for reading in readings
        for name in ("caught_up_age_seconds", "lag_seconds")
        if name in reading.figures
    ]
    known = (("Rows a second", "rows/s", rates), ("Age of what was not stored yet", "s", ages))
    return [Chart(title, unit, points) for title, unit, points in known if len(points) > 1]


def latency_of(readings: Sequence[Reading]) -> list[Table]:
    """Return the age of the oldest row that was not stored yet, as a table; empty if the connector tells no lag."""
    found = percentiles(lags_s(readings))
    if found is None:
        return []
    title = "Age of what was not stored yet, while it kept up"
    return [Table(title, ("p50", "p95", "p99"), [tuple(f"{value:.2f} s" for value in found)])]


def steps_of(readings: Sequence[Reading]) -> list[Table]:
    """Return the seconds that the tasks spent in each step, as a table; empty if the worker has no such metrics."""
    found = shares(readings)
    whole = sum(found.values())
    rows = [(STEPS[step], f"{seconds:.2f} s", f"{seconds / whole:.0%}") for step, seconds in found.items()]
    return [Table("Where the tasks' time went", ("step", "seconds", "share"), rows)] if rows else []


def bottleneck_of(readings: Sequence[Reading]) -> str:
    """Return a sentence that names the step that took most of the time; empty if the worker has no such metrics."""
    found = shares(readings)
    step = next(iter(found), None)
    return (
        "" if step is None else f" Most of the time went into {STEPS[step]} ({found[step] / sum(found.values()):.0%})."
    )
