"""Judges a sink by a sample of its records and a run without faults (checks 3 to 5 and 7). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from connect.api.records import TopicPartition
from connect.poc.sandbox.result import Check, Outcome, Setting, Table
from connect.poc.sandbox.timeline import rate
from connect.poc.sink.sink_run import SinkRun
from connect.poc.sink.sink_sample import place_of
from connect.poc.source.sample_checks import DISCOVER, ROUND_TRIP
from connect.poc.source.throughput_check import (
    THROUGHPUT,
    bottleneck_of,
    charts_of,
    latency_figures,
    latency_of,
    steps_of,
)
from connect.poc.source.type_check import TYPES

KEEPS_ROWS = "The sink kept all rows back until more come"
"""A check says this of a sink that ends its files at a number of rows, if fewer rows came."""


def sample_checks_of(sample: Mapping[str, Any], origin: str) -> list[Check]:
    """Return the checks of discovery and types. `origin` says where the records come from."""
    topics = Table("Topics of the sample", ("topic", "records"), [(t, f"{n:,}") for t, n in sample["topics"].items()])
    text = f"{sample['records']:,} records of {len(sample['topics'])} topics: {origin}."
    discovered = Check(*DISCOVER, Outcome.PASS if sample["records"] else Outcome.WARN, text, (topics,))
    fields = list(sample["fields"].values())
    if not fields:
        return [discovered, Check(*TYPES, Outcome.NOT_TESTED, "No record has a value that the sink would be given.")]
    table = Table(
        "Each field as the sink is given it",
        ("field", "Connect type", "columns", "rows", "null", "example"),
        [(f["field"], f["source"], f["arrow"], f"{f['rows']:,}", f"{f['nulls']:,}", f["example"]) for f in fields],
    )
    untyped = [f["field"] for f in fields if f["source"] == "(no schema)"]
    known = f"{len(fields)} fields, {len(untyped)} of them without a schema." if untyped else f"{len(fields)} fields."
    return [discovered, Check(*TYPES, Outcome.PASS, known, (table,))]


def with_columns(check: Check, columns: Mapping[str, str]) -> Check:
    """Return the check with the columns that the target made of the fields; unchanged if the target cannot tell."""
    if not columns:
        return check
    shown = Table("What the fields are in the target", ("column", "type"), sorted(columns.items()))
    return replace(check, tables=[*check.tables, shown])


def expected_rows(kept: Mapping[str, list[int]], committed: Mapping[TopicPartition, int]) -> int:
    """Return the number of rows that the target must have: the records with a value before the committed offsets."""
    ends = {place_of(place): end for place, end in committed.items()}
    return sum(sum(1 for offset in offsets if offset < ends.get(place, 0)) for place, offsets in kept.items())


def judge_round_trip(run: SinkRun, sample: Mapping[str, Any]) -> Check:
    """Judge if every record of a run without faults is a row of the target."""
    if sample["refused_rows"]:
        refused = Table("Records that could not be converted", ("error",), [(text,) for text in sample["refused"]])
        text = f"{sample['refused_rows']:,} records cannot be converted for the sink."
        return Check(*ROUND_TRIP, Outcome.FAIL, text, (refused,), defects=frozenset({"refused"}))
    if run.failure is not None:
        return Check(*ROUND_TRIP, Outcome.FAIL, f"The sink failed: {run.failure}", defects=frozenset({"refused"}))
    expected, found = expected_rows(sample["kept"], run.committed), run.rows.total()
    if not expected and not any(reading.rows for reading in run.readings):
        text = f"The sink took no record in {run.watched_s:.0f} s: its put did not return."
        return Check(*ROUND_TRIP, Outcome.FAIL, text, defects=frozenset({"stuck"}))
    if not expected:
        why = "Fewer rows a file, for an evaluation; or raise --sample, over REST sample_rows."
        sooner = Setting("flush.size", "1000", why)
        text = f"{KEEPS_ROWS}: nothing is committed, and nothing can be counted."
        return Check(*ROUND_TRIP, Outcome.NOT_TESTED, text, settings=(sooner,))
    if run.merges:
        text = (
            f"{expected:,} records are {found:,} rows: the sink merges records, so lost ones are told by check 8 alone."
        )
        return Check(*ROUND_TRIP, Outcome.PASS, text)
    if found < expected:
        text = (
            f"{expected - found:,} of {expected:,} committed records are not in the target, though nothing was killed."
        )
        return Check(*ROUND_TRIP, Outcome.FAIL, text, defects=frozenset({"lost"}))
    if found > expected + sample["tombstones"]:
        outcome = Outcome.FAIL if run.is_once else Outcome.WARN
        text = f"{expected:,} committed records are {found:,} rows of the target, though nothing was killed."
        return Check(*ROUND_TRIP, outcome, text, defects=frozenset({"duplicate"}))
    return Check(*ROUND_TRIP, Outcome.PASS, f"Every one of {expected:,} committed records is a row of the target.")


def judge_sink_throughput(run: SinkRun, records: int) -> Check:
    """Judge how fast a run without faults was."""
    if run.failure is not None:
        return Check(*THROUGHPUT, Outcome.FAIL, f"The sink failed: {run.failure}")
    measured = rate(run.readings)
    a_second = f"{measured:,.0f}" if measured else "too few rows to tell"
    numbers = (f"{records:,}", f"{run.seconds:.1f} s", a_second, f"{run.tasks}")
    columns = ("records", "until all were put", "records a second after the warm-up", "tasks")
    tables = [Table("A run without faults", columns, [numbers]), *latency_of(run.readings), *steps_of(run.readings)]
    pace = f"{a_second} a second on this machine" if measured else "too few to tell a rate"
    text = f"{records:,} records, {pace}.{bottleneck_of(run.readings)}"
    figures = {"rows_per_second": measured, **latency_figures(run.readings)}
    return Check(*THROUGHPUT, Outcome.PASS, text, tables, charts=charts_of(run.readings), figures=figures)
