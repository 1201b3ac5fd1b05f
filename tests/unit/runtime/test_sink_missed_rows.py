"""What a sink task says and does about rows that it never reads."""

from __future__ import annotations

import pytest

from connect.api.records import TopicPartition
from connect.kafka.consume.gaps import Gap
from connect.runtime.sink.gaps import RECENT_S, SinkGaps
from connect.runtime.sink.partitions import SinkPartitions
from connect.runtime.task.condition import Conditions, Step
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.task_reports import TaskReports

TP = TopicPartition("orders", 3)
DELETED = Gap(TP, 10, 17, 30, 17, "earliest")
MADE_ANEW = Gap(TP, 40, 0, 5, 0, "earliest")


class Told:
    """Plays the consumer, the sink and its commits, and notes their calls."""

    def __init__(self) -> None:
        self.gaps: list[Gap] = []
        self.calls: list[str] = []

    def take_gaps(self) -> list[Gap]:
        found, self.gaps = self.gaps, []
        return found

    def flush(self) -> None:
        self.calls.append("flush")

    def revoked(self, partitions) -> None:
        self.calls.append(f"revoked {partitions}")

    def assigned(self, partitions) -> None:
        self.calls.append(f"assigned {partitions}")


class Bed:
    """A task that looks for gaps, at a time that a test sets."""

    def __init__(self) -> None:
        self.now_s, self.shown, self.told, self.figures = 1e9, [], Told(), TaskFigures()
        self.partitions = SinkPartitions()
        self.conditions = Conditions(self.shown.append)
        reports = TaskReports(self.figures, conditions=self.conditions)
        self.gaps = SinkGaps(self.told, self.told, self.partitions, self.told, reports, clock_s=lambda: self.now_s)

    def look(self, *gaps: Gap) -> str:
        """Return what is shown after a poll that found these."""
        self.told.gaps = list(gaps)
        self.gaps.look()
        return self.shown[-1].reason if self.shown and self.shown[-1] else ""


@pytest.fixture
def bed() -> Bed:
    return Bed()


def test_missed_rows_are_counted_and_told_for_a_day(bed):
    assert bed.look() == ""
    said = bed.look(DELETED)
    assert "ROWS MISSED: 7 rows of orders-3 (offsets 10 to 16)" in said
    bed.look(Gap(TP, 30, 33, 40, 33, "earliest"))
    figures = bed.figures.snapshot()
    assert (figures["missed_rows_total"], figures["offset_resets_total"]) == (10, 2)
    assert figures["last_missed_epoch_s"] == bed.now_s
    bed.now_s += RECENT_S - 1
    assert "orders-3" in bed.look()
    bed.now_s += 2
    assert bed.look() == ""
    assert bed.figures.snapshot()["missed_rows_total"] == 10


def test_many_gaps_are_summed_up(bed):
    said = bed.look(*(Gap(TP, i, i + 2, i + 9, i + 2, "earliest") for i in range(0, 50, 10)))
    assert said.count("ROWS MISSED") == 4
    assert "10 rows in all were missed within a day; the worker's log has 2 more places" in said


def test_nothing_else_that_is_shown_hides_missed_rows(bed):
    bed.conditions.waiting(Step.TAIL, "rows", "The sink keeps 3 rows.")
    bed.look(DELETED)
    assert bed.shown[-1].waiting_for == "rows"
    assert bed.shown[-1].reason.startswith("The sink keeps 3 rows. ROWS MISSED: 7 rows")
    bed.conditions.over(Step.TAIL)
    bed.conditions.noted(["A table is empty."])
    assert [line.split()[0] for line in bed.shown[-1].reason.splitlines()] == ["ROWS", "A"]


def test_a_sink_gets_a_partition_anew_whose_offsets_go_back(bed):
    bed.partitions.assign([TP])
    bed.partitions.remember_commits({TP: 40})
    bed.look(DELETED)
    assert bed.told.calls == []
    assert bed.partitions.knows_commit(TP)
    bed.look(MADE_ANEW)
    assert bed.told.calls == ["flush", f"revoked {[TP]}", f"assigned {[TP]}"]
    assert not bed.partitions.knows_commit(TP)
    assert bed.partitions.is_current(TP)
    assert bed.figures.snapshot()["missed_rows_total"] == 7
