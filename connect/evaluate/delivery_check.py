"""Check 8: the connector is killed at random moments, and its rows are compared with those of a run in peace."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field, replace

from connect.evaluate.comparison import Comparison, as_far_as, compare
from connect.evaluate.options import Options
from connect.evaluate.result import Check, Outcome, Setting, Table
from connect.evaluate.sandbox import Sandbox
from connect.evaluate.source_run import SourceRun, SourceRunner
from connect.evaluate.topic_rows import TopicRows

NUMBER = 8
NAME = "Delivery under kills"
SECONDS_A_KILL = 3.0
"""Offsets are stored every second, so between two kills some are."""


@dataclass(slots=True)
class Kills:
    """Kills task hosts when so many rows are there. `at_rows` is sorted."""

    sandbox: Sandbox
    at_rows: list[int]
    began_s: float = field(default_factory=time.monotonic)
    done: list[tuple[int, float, int]] = field(default_factory=list)
    """Rows in the topics, seconds since the start, processes killed."""

    def look(self, rows: int) -> None:
        """Kill when the next moment has come."""
        if self.at_rows and rows >= self.at_rows[0] and (killed := self.sandbox.kill_task_hosts()):
            self.at_rows.pop(0)
            self.done.append((rows, time.monotonic() - self.began_s, killed))


def check_delivery(
    sandbox: Sandbox,
    runner: SourceRunner,
    peace: SourceRun,
    peaceful: TopicRows,
    *,
    options: Options,
    exactly_once: bool,
) -> Check:
    """Run the source once more under kills. `peace`: a run that nothing disturbed, `peaceful` its rows. `exactly_once`:
    what the configuration asks for, so that a row that comes twice breaks it.
    """
    kills = Kills(sandbox, kill_moments(peaceful.count, options))
    least_s = _least_s(options)
    run = runner.run("kills", kills.look, rows_per_second=peaceful.count / least_s, further_s=least_s)
    rows = run.rows(sandbox)
    # Where a run did not come to the end of the data, what the other one has behind that place tells nothing.
    expected = peaceful if run.is_complete else as_far_as(peaceful, rows)
    found = rows if peace.is_complete else as_far_as(rows, peaceful)
    told = compare(expected, found)
    if run.failure is None and (told.changed or told.invented):
        # The source may have been written to between the runs.
        later = runner.run("later", further_s=options.duration_s)
        told = compare(expected, found, later=later.rows(sandbox))
    figures = {"kills": len(kills.done), "lost_rows": told.lost, "repeated_rows": told.duplicate}
    return replace(_judged(run, told, kills, exactly_once=exactly_once), figures=figures)


def kill_moments(rows: int, options: Options) -> list[int]:
    """At how many rows the task is killed: drawn, one from each part of the run, none before the first row. Pure."""
    draw = random.Random(options.seed)
    part = rows * 0.9 / max(1, options.crashes)
    return [max(1, round(part * (number + draw.random()))) for number in range(options.crashes)]


def _least_s(options: Options) -> float:
    """How long a run under kills takes at least: a source that is done at once could be killed at its end alone."""
    return min(options.duration_s / 2, SECONDS_A_KILL * (options.crashes + 1))


def _judged(run: SourceRun, found: Comparison, kills: Kills, *, exactly_once: bool) -> Check:
    columns = ("kill", "rows in Kafka", "after", "task hosts killed")
    table = Table(
        "Every kill", columns,
        [(str(i), f"{rows:,}", f"{s:.1f} s", str(n)) for i, (rows, s, n) in enumerate(kills.done, 1)],
    )  # fmt: skip
    tables = (_counts(found), table)
    if run.failure is not None:
        return Check(NUMBER, NAME, Outcome.FAIL, f"The task failed for good after a kill: {run.failure}", tables)
    k = len(kills.done)
    seen = f"{k} kill{'' if k == 1 else 's'} of the task, {found.expected:,} rows"
    if not k or not found.found:
        return Check(NUMBER, NAME, Outcome.NOT_TESTED, "The run was over before the first kill.", tables)
    if defects := _wrong_rows(found):
        text = (
            f"{seen}: {found.lost:,} rows lost, {found.changed:,} changed, {found.invented:,} invented, "
            f"{found.duplicate:,} twice."
        )
        return Check(NUMBER, NAME, Outcome.FAIL, text, tables, defects=defects)
    if exactly_once and (found.duplicate or found.reordered):
        text = f"{seen}: {found.duplicate:,} came twice, {found.reordered:,} out of order, in spite of exactly once."
        return Check(NUMBER, NAME, Outcome.FAIL, text, tables, defects=frozenset({"duplicate"}))
    if found.duplicate or found.reordered:
        text = f"{seen}: none lost, {found.duplicate:,} came twice, {found.reordered:,} out of order (at least once)."
        once = Setting("exactly.once.support", "required", "Rows and offsets are then written in one transaction.")
        return Check(NUMBER, NAME, Outcome.WARN, text, tables, (once,), frozenset({"duplicate"}))
    return Check(NUMBER, NAME, Outcome.PASS, f"{seen}: none lost, none twice, all in order.", tables)


def _counts(found: Comparison) -> Table:
    numbers = {
        "expected": found.expected, "found": found.found, "lost": found.lost, "duplicate": found.duplicate,
        "changed": found.changed, "invented": found.invented, "out of order": found.reordered,
    }  # fmt: skip
    return Table("Rows against a run in peace", tuple(numbers), [tuple(f"{number:,}" for number in numbers.values())])


def _wrong_rows(found: Comparison) -> frozenset[str]:
    """The defects that no promise of delivery allows, by the names that `--fail-on` knows."""
    counts = {"lost": found.lost, "changed": found.changed, "invented": found.invented}
    return frozenset(name for name, count in counts.items() if count)
