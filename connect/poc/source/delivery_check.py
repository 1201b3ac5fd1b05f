"""Runs the source under kills and a pause of the broker, and compares its rows with a run without faults (check 8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from connect.poc.sandbox.faults import PAUSE_S, Faults, in_words, plan_faults, table_of
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.result import Check, Outcome, Setting, Table
from connect.poc.sandbox.run_comparison import Comparison, as_far_as, compare
from connect.poc.sandbox.sandbox import Sandbox
from connect.poc.sandbox.topic_rows import TopicRows
from connect.poc.source.source_run import QUIET_S, SourceRun, SourceRunner

KILLS: Final = (8, "Delivery under kills")


def check_delivery(
    sandbox: Sandbox,
    runner: SourceRunner,
    baseline: SourceRun,
    baseline_rows: TopicRows,
    *,
    options: Options,
    exactly_once: bool,
) -> Check:
    """Run the source again under faults. `baseline` is the run without faults, `baseline_rows` are its rows.

    `exactly_once` says that the configuration promises it, so that a row that comes twice is a failure.
    """
    faults = plan_faults(sandbox, baseline_rows.count, baseline.tasks, options)
    run = runner.run("kills", faults, quiet_s=QUIET_S + PAUSE_S)
    rows = run.rows(sandbox)
    # If a run did not come to the end of the data, rows of the other run behind that place tell nothing.
    expected = baseline_rows if run.is_complete else as_far_as(baseline_rows, rows)
    found = rows if baseline.is_complete else as_far_as(rows, baseline_rows)
    told = compare(expected, found)
    if run.failure is None and (told.changed or told.invented):
        # The source may have been written to between the runs.
        later = runner.run("later")
        told = compare(expected, found, later=later.rows(sandbox))
    figures = {"faults": len(faults.done), "lost_rows": told.lost, "repeated_rows": told.duplicate}
    return replace(_judged(run, told, faults, exactly_once=exactly_once), figures=figures)


def _judged(run: SourceRun, found: Comparison, faults: Faults, *, exactly_once: bool) -> Check:
    tables = (_counts(found), table_of(faults, "rows in Kafka", "of them since the tasks began"))
    if run.failure is not None:
        return Check(*KILLS, Outcome.FAIL, f"The task failed for good after a fault: {run.failure}", tables)
    seen = f"{in_words(faults)}, {found.expected:,} rows"
    if not in_words(faults) or not found.found:
        return Check(*KILLS, Outcome.NOT_TESTED, "The run was over before a fault could hit rows.", tables)
    if defects := _wrong_rows(found):
        text = (
            f"{seen}: {found.lost:,} rows lost, {found.changed:,} changed, {found.invented:,} invented, "
            f"{found.duplicate:,} twice."
        )
        return Check(*KILLS, Outcome.FAIL, text, tables, defects=defects)
    if exactly_once and (found.duplicate or found.reordered):
        text = f"{seen}: {found.duplicate:,} came twice, {found.reordered:,} out of order, in spite of exactly once."
        return Check(*KILLS, Outcome.FAIL, text, tables, defects=frozenset({"duplicate"}))
    if found.duplicate or found.reordered:
        text = f"{seen}: none lost, {found.duplicate:,} came twice, {found.reordered:,} out of order (at least once)."
        once = Setting("exactly.once.support", "required", "Rows and offsets are then written in one transaction.")
        return Check(*KILLS, Outcome.WARN, text, tables, (once,), frozenset({"duplicate"}))
    return Check(*KILLS, Outcome.PASS, f"{seen}: none lost, none twice, all in order.", tables)


def _counts(found: Comparison) -> Table:
    numbers = {
        "expected": found.expected, "found": found.found, "lost": found.lost, "duplicate": found.duplicate,
        "changed": found.changed, "invented": found.invented, "out of order": found.reordered,
    }  # fmt: skip
    return Table(
        "Rows against a run without faults", tuple(numbers), [tuple(f"{number:,}" for number in numbers.values())]
    )


def _wrong_rows(found: Comparison) -> frozenset[str]:
    """Return the defects that even at-least-once delivery must not have, by the names of `--fail-on`."""
    counts = {"lost": found.lost, "changed": found.changed, "invented": found.invented}
    return frozenset(name for name, count in counts.items() if count)
