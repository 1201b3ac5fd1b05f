"""Checks what verify says of records that are missing, twice or changed; and what jobs and markers are in Kafka."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from connect.api.optional.bulk import Split
from connect.api.records import SourcePosition
from connect.backfill.job.chunk import Signal
from connect.backfill.job.job import Job, Jobs, JobSignal
from connect.backfill.job.markers import (
    SPLITS_PER_RECORD,
    ChunkState,
    HandoverMarker,
    Marker,
    RecordedVerdict,
    checksum,
    chunk_states,
    driver_state,
    markers,
    plan_records,
    with_headers,
)
from connect.backfill.job.states import JobState
from connect.backfill.verify.report import html_report
from connect.backfill.verify.topic_records import KeySet, RecordTally, digests
from connect.backfill.verify.value_sample import sampled_chunks
from connect.backfill.verify.verdict import ChunkVerdict, Keys, TableVerdict, ValuesVerdict, Verdict
from connect.backfill.verify.verify import chosen_chunks, times_of, unwritten_in_sink
from connect.kafka.raw import RawBatch

SPEC = {"apiVersion": "backfill/v1", "name": "orders", "source": {"connector": "c"}}


def records(*values: bytes | None, keys: list[bytes | None] | None = None) -> RawBatch:
    held = None if keys is None else pa.array(keys, pa.binary())
    return RawBatch("t", pa.array(values, pa.binary()), held)


def test_the_checksum_is_of_keys_and_values_in_any_order():
    whole = records(b"a", b"b", keys=[b"1", b"2"])
    assert checksum(whole) == checksum(whole.take([1, 0]))
    assert checksum(whole) != checksum(records(b"b", b"a", keys=[b"1", b"2"]))
    assert checksum(records(None)) != checksum(records(b""))
    assert checksum(with_headers(whole, "job", "chunk")) == checksum(whole)


def tallied(*batches: RawBatch, **settings) -> RecordTally:
    tally = RecordTally("orders", **settings)
    tally.add_all(batches)
    return tally


def test_records_are_found_by_the_headers_of_their_job():
    own = with_headers(records(b"a", b"b"), "orders", "c1")
    mixed = RawBatch(
        "t", pa.array([b"a", b"x", b"b", b"y"], pa.binary()),
        headers=[*(own.headers or ())[:1], (), *(own.headers or ())[1:], (("bf.job", b"other"), ("bf.chunk", b"c1"))],
    )  # fmt: skip
    assert tallied(mixed).found == tallied(own).found
    assert tallied(mixed).found["c1"].rows == 2
    assert tallied(records(b"a")).found == {}


def test_a_record_that_is_there_again_without_headers_is_seen_where_it_came_since_the_job_began():
    own = with_headers(records(b"a", b"b", keys=[b"1", b"2"]), "orders", "c1")
    again = records(b"b", b"b", b"c", keys=[b"2", b"2", b"3"])
    assert not tallied(again, own).foreign, "what was there before is no work of the job's"
    seen = tallied(own, again).foreign
    assert seen.repeated_in("orders", [own, again]) == 2
    other_key = records(b"b", keys=[b"9"])
    assert tallied(own, other_key).foreign.repeated_in("orders", [own, other_key]) == 0
    of_another_job = with_headers(records(b"a", keys=[b"1"]), "payments", "c1")
    assert tallied(own, of_another_job).foreign.repeated_in("orders", [own, of_another_job]) == 1


def test_the_records_of_watched_chunks_are_told_one_by_one():
    own = with_headers(records(b"a", b"b", b"a"), "orders", "c1")
    found = tallied(own, with_headers(records(b"z"), "orders", "c2"), watched=["c1"]).watched
    first, second = digests(records(b"a", b"b"))
    assert found == {"c1": {first: 2, second: 1}}


def test_chunks_whose_values_are_compared_are_drawn_by_a_seed_and_bounded():
    states = {f"c{i}": ChunkState(read=30_000, rows=30_000, size_bytes=2**20) for i in range(100)}
    assert len(sampled_chunks("a", states)) == 3
    assert sampled_chunks("a", states) == sampled_chunks("a", states) != sampled_chunks("b", states)
    large = {f"c{i}": ChunkState(read=10, rows=10, size_bytes=200 * 2**20) for i in range(9)}
    assert len(sampled_chunks("a", large)) == 1
    assert sampled_chunks("a", {}) == []


def test_a_verdict_tells_missing_twice_and_changed_apart():
    def verdict(source: int, wrote: int, found: int, same: bool) -> Verdict:
        return Verdict("orders", [ChunkVerdict("c", source, wrote, wrote, found, same)])

    assert verdict(10, 10, 10, True).is_good
    lost = verdict(10, 10, 9, False)
    assert (lost.missing, lost.twice, lost.is_good) == (1, 0, False)
    twice = verdict(10, 10, 12, False)
    assert (twice.missing, twice.twice, twice.is_good) == (0, 2, False)
    changed = verdict(10, 10, 10, False)
    assert (changed.changed, changed.is_good) == (["c"], False)
    late = verdict(11, 10, 10, True)
    assert (late.missing, late.is_good) == (1, False)
    assert verdict(8, 10, 10, True).is_good, "rows that were deleted since are no loss"
    assert not Verdict("orders", [ChunkVerdict("c", None, None, None, 3, False)]).is_good


def test_what_the_source_counted_is_held_against_what_was_read_and_what_was_read_against_what_was_written():
    good = ChunkVerdict("c", None, 10, 10, 10, True)
    assert Verdict("orders", [good]).is_good
    unread = replace(good, unread=2)
    assert (unread.missing, unread.is_good, unread.finding) == (2, False, "2 missing")
    dropped = replace(good, read=12, dropped=2)
    assert (dropped.missing, dropped.finding) == (2, "2 missing, 2 of them read and not written")
    late = replace(good, source=12, unread=2)
    assert late.missing == 2, "one loss is counted once"


def test_rows_in_no_chunk_records_without_headers_and_other_values_are_not_good():
    good = [ChunkVerdict("c", 10, 10, 10, 10, True)]
    gap = Verdict("orders", good, tables=[TableVerdict("table t", 13, 10)])
    assert (gap.is_good, gap.line) == (False, "NOT good: 3 missing, 0 twice")
    assert "table t: 3 rows in no chunk" in gap.facts()
    beyond = Verdict("orders", good, tables=[TableVerdict("table t", 10, 10, 4, "their id is NULL")])
    assert beyond.is_good
    assert "table t: 4 rows read by nobody, as their id is NULL" in beyond.facts()
    again = Verdict("orders", good, again=1)
    assert (again.is_good, again.line) == (False, "NOT good: 0 missing, 1 twice")
    other = Verdict("orders", good, values=ValuesVerdict(100, 2, ["c"], "s7"))
    assert (other.is_good, other.line) == (
        False,
        "NOT good: 0 missing, 0 twice, 2 with other values than in the source",
    )
    assert any("by the seed s7, compared with the source value by value: 2 differ" in fact for fact in other.facts())


def test_a_good_verdict_says_what_was_not_compared():
    good = Verdict("orders", [ChunkVerdict("c", 10, 10, 10, 10, True)], not_compared=["values, as …"])
    assert good.is_good
    assert good.line == "good, as far as it was compared: 0 missing, 0 twice"
    assert list(good.lines())[-2:] == ["not compared: values, as …", good.line]
    assert good.as_json()["not_compared"] == ["values, as …"]
    assert "as far as it was compared" in html_report(good)
    gap = Verdict("orders", good.chunks, tables=[TableVerdict("table t", 13, 10)])
    assert "NOT good: 3 missing" in html_report(gap)


def test_a_chunk_knows_what_its_last_reading_was_to_give():
    first = Marker("c", 0, 10, 10, 1, 1, False)
    second = Marker("c", 1, 5, 5, 1, 1, False)
    last = Marker("c", 2, 4, 4, 1, 1, True, counted=9, counted_from=1)
    (state,) = chunk_states(markers([m.record for m in (first, second, last)])).values()
    assert (state.read, state.unread) == (19, 0)
    (short,) = chunk_states([first, second, replace(last, counted=11)]).values()
    assert short.unread == 2
    (alone,) = chunk_states([replace(last, part=0, counted_from=0)]).values()
    assert alone.unread == 5


def test_keys_are_counted_as_different_ones_and_not_beyond_what_memory_allows():
    keys = KeySet(5)
    keys.add(pa.array([b"a", b"b", None, b"a"]))
    keys.add(None)
    assert keys.counted == Keys(3, 2)
    keys.add(pa.array([b"c", b"d", b"e"]))
    assert keys.counted is None
    assert KeySet().counted is None
    found = tallied(with_headers(records(b"x", keys=[b"k"]), "orders", "c"))
    assert (found.found["c"].rows, found.keys.counted) == (1, Keys(1, 1))


def test_a_sample_is_the_same_each_time_and_looks_where_its_chunks_were_written():
    names = [f"c{i}" for i in range(1000)]
    some = chosen_chunks("orders", names, 0.05)
    assert some == chosen_chunks("orders", names, 0.05)
    assert len(some) == 50
    assert chosen_chunks("orders", names, 0.0001)
    assert chosen_chunks("orders", names, 1.0) == set(names)
    marker = Marker("c1", 0, 2, 2, 30, 7, True, written_ms=1_000_000)
    assert times_of([marker], frozenset({"c1"}), 50.0) == [(990_000, 1_060_000)]
    assert times_of([marker], frozenset(), 50.0) == []
    both = [with_headers(records(b"a"), "orders", n) for n in ("c1", "c2")]
    assert set(tallied(*both, chosen=frozenset({"c2"})).found) == {"c2"}
    unseen = Verdict("orders", [ChunkVerdict("c", 10, 10, 10, None, True)], sample=0.05)
    assert unseen.is_good
    assert not Verdict("orders", [ChunkVerdict("c", 11, 10, 10, None, True)], sample=0.05).is_good


def test_the_report_is_one_page_with_every_finding_and_nothing_unescaped():
    evil = "</script><b>c1"
    bad = ChunkVerdict(evil, 10, 10, 10, 9, False, places={"t-0": (3, 40)})
    page = html_report(Verdict("orders", [bad, ChunkVerdict("c2", 5, 5, 5, 5, True)], Keys(14, 13)), 0.0)
    assert "1 of 2 chunks are not as they were written" in page
    assert "1 missing (offsets t-0 from 3 to 40)" in page
    assert "13 distinct keys; 1 record with a key that another one has" in page
    assert "<b>c1" not in page
    assert page.count("</script>") == 1
    assert "http" not in page
    assert "Every row is there once" in html_report(Verdict("orders", [ChunkVerdict("c", 1, 1, 1, 1, True)]))


def test_a_plan_of_any_size_survives_its_way_through_kafka():
    splits = [Split(f"c{i}", {"from": i}, 7, 8) for i in range(2 * SPLITS_PER_RECORD + 1)]
    marker = HandoverMarker([SourcePosition({"table": "t"}, {"incrementing": 5})], 1)
    state = driver_state([*plan_records(splits), marker.record])
    assert list(state.splits) == splits
    assert state.handover == marker


def test_markers_survive_their_way_through_kafka():
    marker = Marker("c", 1, 2, 2, 30, 2**64 - 1, True, {"t": 2}, {"after": 9}, 5)
    assert markers([marker.record]) == [marker]


def test_what_a_newer_version_wrote_beside_is_left_aside():
    marker = Marker("c", 0, 2, 2, 30, 7, True)
    key, value = marker.record
    assert markers([(key, value.replace(b"{", b'{"mood":"good",', 1))]) == [marker]


def test_a_lane_hears_the_owner_and_another_run():
    job = Job(SPEC, JobState.RUNNING, "run1", 1, 1, 1, [], [], [], 0, 0)
    jobs = Jobs([job.record])
    assert jobs.signal("orders", "run1") is Signal.GO_ON
    assert jobs.signal("orders", "run0") is Signal.SUPERSEDED
    jobs.apply(*JobSignal("orders", Signal.PAUSE).record)
    assert jobs.signal("orders", "run1") is Signal.PAUSE
    assert jobs.jobs["orders"] == job


def test_rows_that_a_sink_was_given_and_did_not_write_are_told_with_their_number():
    whole, some = ChunkState(read=1000, rows=990, letters=10), ChunkState(read=1000, rows=900)
    assert unwritten_in_sink([whole]) is None
    told = unwritten_in_sink([whole, some])
    assert told is not None
    assert told.startswith("100 rows that were read and that the sink does not count as written")
    assert "errors.tolerance" in told


def test_of_two_verdicts_the_one_whose_reading_began_later_counts():
    bad, late = RecordedVerdict(False, "bad", 50, began_ms=40), RecordedVerdict(True, "good", 60, began_ms=10)
    for told in ([bad, late], [late, bad]):
        assert driver_state([one.record for one in told]).verdict == bad
    slow = RecordedVerdict(False, "bad, by a machine whose clock is late", 20, began_ms=5)
    assert driver_state([late.record, slow.record]).verdict == slow, "a handover sees that something is wrong"
    older = RecordedVerdict(True, "of a release that did not tell", 70)
    assert driver_state([bad.record, older.record]).verdict == older, "it counts as of its writing"
