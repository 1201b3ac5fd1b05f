"""Checks what a sink task says and does about rows that it never reads."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.records import TopicPartition
from connect.kafka.client.rights import Needs
from connect.kafka.consume.gaps import Gap
from connect.kafka.consume.remarks import Remarks
from connect.runtime.sink import gaps
from connect.runtime.sink.gaps import SinkGaps
from connect.runtime.sink.partitions import SinkPartitions
from connect.runtime.sink.recent_gaps import RECENT_S
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
        self.remarks = Remarks(self, lambda: Needs.of({}, "Read"))
        self.kept: dict[TopicPartition, str] = {}
        self.is_away = False

    def committed(self, partitions, timeout) -> list[KafkaPartition]:
        assert timeout > 0
        asked = [TopicPartition(p.topic, p.partition) for p in partitions]
        self.calls.append(f"committed {asked}")
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return [KafkaPartition(*tp, 5, self.kept.get(tp, "")) for tp in asked]

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
    assert bed.told.calls == [f"committed {[TP]}"]
    assert bed.partitions.knows_commit(TP)
    bed.look(MADE_ANEW)
    assert bed.told.calls[1:] == ["flush", f"revoked {[TP]}", f"assigned {[TP]}"]
    assert not bed.partitions.knows_commit(TP)
    assert bed.partitions.is_current(TP)
    assert bed.figures.snapshot()["missed_rows_total"] == 7


def next_run(bed: Bed, *partitions: TopicPartition) -> Bed:
    """A task of the same group that gets these partitions after the first one has committed."""
    other = Bed()
    other.now_s, other.told.kept = bed.now_s, dict(bed.told.remarks.own)
    other.partitions.assign(partitions)
    return other


def test_a_run_tells_what_an_earlier_one_has_missed_until_the_day_is_over(bed):
    bed.partitions.assign([TP])
    said = bed.look(DELETED)
    bed.now_s += 100
    second = next_run(bed, TP)
    assert second.look() == said
    figures = second.figures.snapshot()
    assert (figures["missed_rows_total"], figures["last_missed_epoch_s"]) == (0, bed.now_s - 100)
    assert second.look(Gap(TP, 30, 33, 40, 33, "earliest")).count("ROWS MISSED") == 2
    third = next_run(second, TP)
    assert third.look().count("ROWS MISSED") == 2
    third.now_s += RECENT_S - 50
    assert "offsets 30 to 32" in third.look()
    assert "offsets 10 to 16" not in third.shown[-1].reason
    third.now_s += 100
    assert third.look() == ""
    assert third.told.remarks.own == {}
    assert next_run(third, TP).look() == ""


def test_a_partition_that_went_away_is_told_of_by_its_next_owner(bed):
    other = TopicPartition("orders", 4)
    bed.partitions.assign([TP, other])
    bed.look(DELETED, Gap(other, 1, 2, 9, 2, "earliest"))
    second = next_run(bed, TP)
    bed.partitions.lose([TP])
    assert bed.look().count("ROWS MISSED") == 1
    assert bed.told.remarks.own.keys() == {other}
    assert "orders-3" in second.look()
    assert "orders-4" not in second.look()


def test_a_group_that_does_not_answer_is_asked_again_and_holds_nothing_up(bed, monkeypatch):
    bed.partitions.assign([TP])
    bed.look(DELETED)
    second = next_run(bed, TP)
    second.told.is_away = True
    assert second.look() == ""
    second.told.is_away = False
    assert second.look() == ""
    monkeypatch.setattr(gaps, "_AGAIN_S", 0.0)
    second.gaps._next_ask_s = 0.0
    assert "orders-3" in second.look()
    second.look()
    assert second.told.calls == [f"committed {[TP]}"] * 2


@pytest.mark.parametrize(
    "metadata",
    ["", "me", "{}", "[]", "7", '{"missed_rows":7}', '{"missed_rows":[[1,2]]}', '{"missed_rows":["abcdef"]}'],
)
def test_metadata_of_others_says_nothing(bed, metadata):
    bed.told.kept = {TP: metadata}
    bed.partitions.assign([TP])
    assert bed.look() == ""


def test_what_is_kept_stays_small_however_often_rows_are_missed(bed):
    bed.partitions.assign([TP])
    end = 2**63 - 1
    bed.look(*(Gap(TP, end - i, end, end, end, "by_duration:P365DT23H59M59S") for i in range(1000)))
    assert len(bed.told.remarks.own[TP]) < 4096
