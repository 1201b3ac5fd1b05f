"""A group whose next offset is not in the log knows which rows it never reads, and where it reads on."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect.api.errors import ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.kafka.consume import last_rows
from connect.kafka.consume.columns import ReadError
from connect.kafka.consume.gaps import Gap
from connect.kafka.consume.last_rows import LastRows
from connect.kafka.consume.offset_resets import OffsetResets
from connect.kafka.consume.reset_policy import ResetPolicy
from connect.kafka.raw import RawBatch

TP = TopicPartition("orders", 3)
OUT_OF_RANGE = (
    "fetch failed due to requested offset not available on the broker: Broker: Offset out of range (broker 1)"
)
CUT = (
    "Partition log truncation detected at offset 40: broker end offset is 20 (offset leader epoch 1). Reset to INVALID."
)
NEW = "no previously committed offset available: Local: No offset stored"


class Log:
    """A consumer whose one partition has offsets `first` to `end`, of which it has read those before `position`."""

    def __init__(self, first: int = 0, end: int = 0, *, position: int = -1001, committed: int = -1001) -> None:
        self.first, self.end, self.place, self.stored = first, end, position, committed
        self.is_away = False

    def offsets_for_times(self, partitions, timeout):
        assert timeout > 0
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return [KafkaPartition(p.topic, p.partition, self._at(p.offset)) for p in partitions]

    def _at(self, place):
        if place == OFFSET_BEGINNING:
            return self.first
        return self.end if place == OFFSET_END else self.first + 5

    def position(self, partitions):
        return [KafkaPartition(p.topic, p.partition, self.place) for p in partitions]

    def committed(self, partitions, timeout):
        assert timeout > 0
        return [KafkaPartition(p.topic, p.partition, self.stored) for p in partitions]


def out_of_range(offset: int) -> ReadError:
    return ReadError(KafkaError(KafkaError._AUTO_OFFSET_RESET, OUT_OF_RANGE), TP, offset)


def settled(log: Log, policy: str, text: str, offset: int) -> tuple[dict[TopicPartition, int], list[Gap]]:
    resets, starts = OffsetResets(log, ResetPolicy.parse(policy), LastRows({})), {}
    assert resets.takes(ReadError(KafkaError(KafkaError._AUTO_OFFSET_RESET, text), TP, offset), {TP})
    resets.settle(lambda found, _gaps: starts.update(found))
    return starts, resets.take_gaps()


@pytest.mark.parametrize(
    ("policy", "reads_on_at", "missed"),
    [("earliest", 17, 7), ("latest", 30, 20), ("by_duration:PT1H", 22, 12)],
)
def test_rows_deleted_before_they_were_read_are_counted_to_the_last_one(policy, reads_on_at, missed):
    starts, (gap,) = settled(Log(17, 30), policy, OUT_OF_RANGE, 10)
    assert starts == {TP: reads_on_at}
    assert (gap.missed_rows, gap.goes_back) == (missed, False)
    assert "7 rows of orders-3 (offsets 10 to 16) were deleted before they were read" in str(gap)


@pytest.mark.parametrize(("policy", "reads_on_at", "missed"), [("earliest", 5, 0), ("latest", 20, 15)])
@pytest.mark.parametrize(("text", "offset", "position"), [(OUT_OF_RANGE, 40, -1001), (CUT, -1001, 40)])
def test_an_offset_beyond_the_log_goes_back(policy, reads_on_at, missed, text, offset, position):
    starts, (gap,) = settled(Log(5, 20, position=position), policy, text, offset)
    assert starts == {TP: reads_on_at}
    assert (gap.offset, gap.missed_rows, gap.goes_back) == (40, missed, True)
    assert "made anew or cut" in str(gap)


def test_a_log_that_was_cut_is_read_anew_also_where_it_has_grown_beyond_the_offset():
    starts, (gap,) = settled(Log(5, 90, position=40), "earliest", CUT, -1001)
    assert (starts, gap.goes_back) == ({TP: 5}, True)


@pytest.mark.parametrize("offset", [17, 20, 30])
def test_an_offset_that_is_in_the_log_by_now_is_read(offset):
    assert settled(Log(17, 30), "earliest", OUT_OF_RANGE, offset) == ({TP: offset}, [])


class SeenRows(LastRows):
    """Knows what brokers answer when they are asked for the row that was read last."""

    def __init__(self, *answers: bool | None) -> None:
        super().__init__({})
        self.answers = list(answers)

    def show_other_logs(self, partitions):
        answer = self.answers.pop(0)
        return {} if answer is None else dict.fromkeys(partitions, answer)


@pytest.mark.parametrize(("policy", "reads_on_at", "missed"), [("earliest", 17, 0), ("latest", 30, 13)])
def test_a_log_that_has_other_rows_at_the_offset_by_now_is_read_anew(policy, reads_on_at, missed):
    starts = {}
    resets = OffsetResets(Log(17, 30), ResetPolicy.parse(policy), SeenRows(True))
    resets.takes(out_of_range(20), {TP})
    resets.settle(lambda found, _gaps: starts.update(found))
    assert starts == {TP: reads_on_at}
    (gap,) = resets.take_gaps()
    assert (gap.offset, gap.goes_back, gap.missed_rows) == (20, True, missed)


def test_brokers_that_do_not_give_the_last_row_are_asked_again(monkeypatch):
    now_s, starts = [100.0], {}
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    resets = OffsetResets(Log(17, 30), ResetPolicy.parse("earliest"), SeenRows(None, False))
    resets.takes(out_of_range(20), {TP})
    resets.settle(lambda found, _gaps: starts.update(found))
    assert not starts
    now_s[0] = 101.5
    resets.settle(lambda found, _gaps: starts.update(found))
    assert (starts, resets.take_gaps()) == ({TP: 20}, [])


def rows_of(*numbers: int, time_ms: int = 1000) -> list[RawBatch]:
    row = {"values": pa.array([b"v"], pa.binary()), "offsets": pa.array([19], pa.int64())}
    times = pa.array([time_ms], pa.timestamp("ms"))
    return [RawBatch("orders", **row, partition=n, timestamps_ms=times.cast(pa.int64())) for n in numbers]


def test_the_last_rows_of_all_partitions_are_asked_for_at_once(monkeypatch):
    """A member that waits for one partition after the other is thrown out of its group."""
    asked = []

    def spans(settings, wanted, deadline):
        asked.append(sorted(tp.partition for tp in wanted))
        yield from [*rows_of(0), *rows_of(1, time_ms=2000)]
        raise RetriableError("not read in time")

    rows = LastRows({})
    rows.note(rows_of(0, 1, 2))
    monkeypatch.setattr(last_rows, "read_spans", spans)
    found = rows.show_other_logs({TopicPartition("orders", n) for n in range(4)})
    assert asked == [[0, 1, 2]]
    assert found == {TopicPartition("orders", n): n == 1 for n in (0, 1, 3)}, "partition 2 was not answered"


@pytest.mark.parametrize(("policy", "begins_at"), [("earliest", 17), ("latest", 30), ("by_duration:PT1H", 22)])
def test_rows_before_the_first_commit_of_a_group_are_no_loss(policy, begins_at):
    assert settled(Log(17, 30), policy, NEW, -1001) == ({TP: begins_at}, [])


def test_what_was_committed_counts_where_nothing_was_read():
    assert settled(Log(17, 30, committed=12), "earliest", CUT, -1001)[1][0].missed_rows == 5


@pytest.mark.parametrize(
    ("text", "offset", "said"), [(OUT_OF_RANGE, 10, "Offset 10 of orders-3"), (NEW, -1001, "no offset")]
)
def test_none_fails_as_in_java_and_names_both_ends(text, offset, said):
    with pytest.raises(ConnectError, match=said) as caught:
        settled(Log(17, 30), "none", text, offset)
    assert caught.value.key == "consumer.override.auto.offset.reset"
    if offset >= 0:
        assert "17 to 30" in caught.value.message


def test_brokers_that_are_away_are_asked_again(monkeypatch):
    now_s = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    log, starts = Log(17, 30), {}
    resets = OffsetResets(log, ResetPolicy.parse("earliest"), LastRows({}))
    resets.takes(out_of_range(10), {TP})
    log.is_away = True
    resets.settle(lambda found, _gaps: starts.update(found))
    assert not starts
    log.is_away, now_s[0] = False, 101.5
    resets.settle(lambda found, _gaps: starts.update(found))
    assert starts == {TP: 17}


def test_a_partition_that_went_to_another_member_is_its_to_count():
    resets = OffsetResets(Log(17, 30), ResetPolicy.parse("earliest"), LastRows({}))
    resets.takes(out_of_range(10), {TP})
    resets.forget([TP])
    resets.settle(lambda *_: pytest.fail("it is read no more"))
    assert resets.take_gaps() == []


def test_an_error_that_was_queued_before_the_partition_went_away_moves_nothing():
    resets = OffsetResets(Log(17, 30), ResetPolicy.parse("earliest"), LastRows({}))
    assert resets.takes(out_of_range(10), set())
    resets.settle(lambda *_: pytest.fail("another member reads it"))
    assert resets.take_gaps() == []


def test_an_error_of_before_the_partition_was_moved_moves_it_no_more():
    """A second partition's error has all of them assigned again, and so each of them has its error twice."""
    starts = []
    resets = OffsetResets(Log(17, 30), ResetPolicy.parse("earliest"), LastRows({}))
    resets.takes(out_of_range(10), {TP})
    resets.settle(lambda found, _gaps: starts.append(found))
    assert resets.takes(out_of_range(10), {TP})
    resets.settle(lambda found, _gaps: starts.append(found))
    assert starts == [{TP: 17}]
    assert [gap.missed_rows for gap in resets.take_gaps()] == [7]
    resets.takes(out_of_range(17), {TP})
    resets.settle(lambda found, _gaps: starts.append(found))
    assert starts == [{TP: 17}, {TP: 17}], "it can be lost again"


def test_an_error_at_an_offset_that_was_passed_since_takes_no_partition_back():
    resets = OffsetResets(Log(17, 30, position=25), ResetPolicy.parse("earliest"), LastRows({}))
    resets.takes(out_of_range(10), {TP})
    resets.settle(lambda *_: pytest.fail("it is read already"))
    assert resets.take_gaps() == []


def test_a_partition_that_stands_still_is_taken_back_by_a_seek():
    starts = {}
    log = Log(5, 20, position=40)
    resets = OffsetResets(log, ResetPolicy.parse("earliest"), LastRows({}))
    resets.takes(out_of_range(40), {TP})
    assert resets.moves(TP, 7)
    resets.settle(lambda found, _gaps: starts.update(found))
    assert starts == {TP: 7}
    resets.forget([TP])
    log.place = -1001
    resets.takes(out_of_range(6), {TP})
    resets.settle(lambda found, _gaps: starts.update(found))
    assert starts == {TP: 6}, "a further seek went back to it"


@pytest.mark.parametrize("error", [ReadError(KafkaError(KafkaError._ALL_BROKERS_DOWN), None, -1001),
                                   ReadError(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), TP, -1001)])  # fmt: skip
def test_other_errors_are_none_of_these(error):
    assert not OffsetResets(Log(), ResetPolicy.parse("earliest"), LastRows({})).takes(error, {TP})


@pytest.mark.parametrize(
    ("text", "age"),
    [("by_duration:PT1H30M", timedelta(hours=1, minutes=30)), ("by_duration:p7dt0.5s", timedelta(days=7, seconds=0.5))],
)
def test_a_duration_is_java_s(text, age):
    policy = ResetPolicy.parse(text)
    assert policy.age == age
    assert policy.place(10**12) == 10**12 - age.total_seconds() * 1000


@pytest.mark.parametrize("text", ["", "sometimes", "by_duration", "by_duration:", "by_duration:P", "by_duration:-PT1H",
                                  "by_duration:PT", "by_duration:P1Y", "by_duration:1h"])  # fmt: skip
def test_other_policies_are_refused(text):
    with pytest.raises(ValueError, match=r"by_duration|span of time"):
        ResetPolicy.parse(text)
