"""Runs a sink under kills and a pause of the broker, and compares its target with that of a run without faults (check
8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from connect.poc.sandbox.faults import Faults, in_words, plan_faults, table_of
from connect.poc.sandbox.options import Options
from connect.poc.sandbox.result import Check, Outcome, Table
from connect.poc.sandbox.sandbox import Sandbox
from connect.poc.sink.sink_checks import KEEPS_ROWS, expected_rows
from connect.poc.sink.sink_run import SinkRun, SinkRunner
from connect.poc.source.delivery_check import KILLS


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """Compares the rows of a target after a run under kills with those of a run without faults.

    `lost` and `duplicate` are None where nothing could be compared.
    """

    expected: int
    found: int
    lost: int | None
    duplicate: int | None


def compare_targets(baseline: SinkRun, killed: SinkRun, kept: Mapping[str, list[int]]) -> TargetComparison:
    """Compare two targets row by row if both runs have committed equally far, or else by the number of rows. Pure."""
    expected, found = expected_rows(kept, killed.committed), killed.rows.total()
    if killed.committed == baseline.committed:
        lost, extra = baseline.rows - killed.rows, killed.rows - baseline.rows
        return TargetComparison(baseline.rows.total(), found, lost.total(), extra.total())
    if killed.merges:
        # How many rows the records so far would have become is not known, so a number tells nothing.
        return TargetComparison(expected, found, None, None)
    return TargetComparison(expected, found, max(0, expected - found), max(0, found - expected))


def check_sink_delivery(
    sandbox: Sandbox, runner: SinkRunner, baseline: SinkRun, sample: Mapping[str, Any], options: Options
) -> Check:
    """Run the sink again under faults. `baseline` is the run without faults."""
    if not any(baseline.committed.values()):
        return Check(*KILLS, Outcome.NOT_TESTED, f"{KEEPS_ROWS}, so that kills show nothing.")
    faults = plan_faults(sandbox, runner.records, baseline.tasks, options)
    run = runner.run("kills", faults, until=baseline.committed)
    return judge_sink_delivery(run, compare_targets(baseline, run, sample["kept"]), faults)


def judge_sink_delivery(run: SinkRun, found: TargetComparison, faults: Faults) -> Check:
    """Judge a run under faults by the comparison of its target. Pure."""
    counts = Table(
        "Rows of the target against a run without faults",
        ("expected", "found", "lost", "twice"),
        [tuple(map(_shown, (found.expected, found.found, found.lost, found.duplicate)))],
    )
    figures: dict[str, float] = {"faults": len(faults.done)}
    if found.lost is not None and found.duplicate is not None:
        figures |= {"lost_rows": found.lost, "repeated_rows": found.duplicate}
    return replace(
        _outcome(run, found, faults),
        tables=(counts, table_of(faults, "rows committed", "put and not committed")),
        figures=figures,
    )


def _shown(number: int | None) -> str:
    return "not compared" if number is None else f"{number:,}"


def _outcome(run: SinkRun, found: TargetComparison, faults: Faults) -> Check:
    if run.failure is not None:
        return Check(*KILLS, Outcome.FAIL, f"The sink failed for good after a fault: {run.failure}")
    seen = f"{in_words(faults)}, {found.expected:,} rows"
    if not in_words(faults) or not found.found:
        text = f"No fault found rows under way, or none was committed, in {run.watched_s:.0f} s."
        return Check(*KILLS, Outcome.NOT_TESTED, text)
    if found.lost is None or found.duplicate is None:
        text = (
            f"{seen}: the run did not commit as far as the one without faults, and a sink that merges rows cannot be "
            "compared by their number."
        )
        return Check(*KILLS, Outcome.NOT_TESTED, text)
    if found.lost:
        text = f"{seen}: {found.lost:,} lost, {found.duplicate:,} twice."
        return Check(*KILLS, Outcome.FAIL, text, defects=frozenset({"lost"}))
    if found.duplicate:
        outcome = Outcome.FAIL if run.is_once else Outcome.WARN
        promise = "in spite of what the configuration promises" if run.is_once else "at least once"
        text = f"{seen}: none lost, {found.duplicate:,} twice ({promise})."
        return Check(*KILLS, outcome, text, defects=frozenset({"duplicate"}))
    return Check(*KILLS, Outcome.PASS, f"{seen}: none lost, none twice.")
