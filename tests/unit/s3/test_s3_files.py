"""Each row once, whatever cuts, crashes, clocks and rivals there are: the bookkeeping against a bucket in a dict."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from s3_lives import TP, Bucket, Life, Row, batch, rows

from connect.api.errors import ConnectError
from connect.api.records import Batch, Column, Consumed
from connectors.s3.files.rotation import Rules
from connectors.s3.formats.compression import Compression
from connectors.s3.formats.parquet import ParquetFormat
from connectors.s3.formats.text import JsonFormat

pytestmark = pytest.mark.thorough


@st.composite
def logs(draw: st.DrawFn) -> list[Row]:
    gaps = st.integers(draw(st.integers(0, 1)), 3)
    steps = draw(st.lists(st.tuples(gaps, st.sampled_from("abc"), st.integers(-2, 9)), max_size=60))
    rows, offset, time_ms = [], 0, 0
    for number, (gap, path, passed) in enumerate(steps):
        time_ms += passed
        rows.append(Row(offset, path, time_ms, number))
        offset += gap
    return rows


RULES = st.builds(
    Rules,
    rows=st.integers(1, 12),
    size_bytes=st.none() | st.integers(1, 200),
    interval_ms=st.none() | st.integers(1, 20),
    on_path_change=st.booleans(),
    max_paths=st.none() | st.integers(1, 2),
    ends_slow_files=st.booleans(),
)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 9)),
        st.tuples(st.just("clock"), st.integers(0, 3)),
        st.tuples(st.just("upload"), st.integers(0, 3)),
        st.tuples(st.just("flush"), st.just(0)),
        st.tuples(st.just("crash"), st.just(0)),
        st.tuples(st.just("rival"), st.integers(1, 9)),
        st.tuples(st.just("switch"), st.just(0)),
    ),
    min_size=15,
    max_size=40,
)
SELDOM_FULL = st.builds(Rules, rows=st.integers(6, 40))
"""Most files end by the clock, so that lives end them at different offsets."""


def feed(life: Life, log: list[Row], count: int) -> None:
    rest = [row for row in log if row.offset >= life.read_to]
    while 0 < count < len(rest) and rest[count].offset == rest[count - 1].offset:
        count += 1  # a record is read whole
    rows = rest[:count]
    if rows:
        life.put(rows, rest[count].offset if len(rest) > count else rows[-1].offset + 1)


def act(lives: list[Life], log: list[Row], action: str, number: int) -> None:
    life = lives[0]
    match action:
        case "put":
            feed(life, log, number)
        case "clock":
            life.end_files()
            life.upload(number)
        case "upload":
            life.upload(number)
        case "flush":
            life.flush()
        case "crash":
            lives[0] = life.successor()
        case "rival":
            # The new owner starts at the commit while the old one, which does not know, lives on.
            lives.insert(0, life.successor())
            feed(lives[0], log, number)
        case "switch":
            lives.append(lives.pop(0))


def finish(life: Life, log: list[Row]) -> None:
    feed(life, log, len(log))
    life.end_files()
    life.flush()


@settings(max_examples=150, deadline=None)
@given(log=logs(), rules=RULES | SELDOM_FULL, actions=ACTIONS, parquet=st.booleans(), is_together=st.booleans())
def test_any_cuts_clocks_crashes_and_rivals_leave_each_row_in_one_object(log, rules, actions, parquet, is_together):
    file_format = ParquetFormat("none") if parquet else JsonFormat(Compression())
    lives = [Life(Bucket(), rules, format=file_format, is_together=is_together)]
    for action, number in actions:
        act(lives, log, action, number)
        durable = {row.number for life in lives for row in log if row.offset < life.committed}
        assert durable <= set(lives[0].bucket.numbers()), "what is committed is in the bucket"
    for life in lives:
        finish(life, log)
    finish(min(lives, key=lambda life: life.committed).successor(), log)
    assert lives[0].bucket.numbers() == [row.number for row in log]


@settings(max_examples=150, deadline=None)
@given(log=logs(), rules=RULES, cuts=st.lists(st.integers(1, 9), min_size=1, max_size=8), is_together=st.booleans())
def test_keys_and_extents_do_not_depend_on_how_records_were_cut_into_batches(log, rules, cuts, is_together):
    if not is_together:  # these two look at what is open when a poll ends
        rules = replace(rules, max_paths=None, ends_slow_files=False)
    whole, pieces = (Life(Bucket(), rules, is_together=is_together) for _ in range(2))
    feed(whole, log, len(log))
    position = 0
    while pieces.read_to <= (log[-1].offset if log else -1):
        feed(pieces, log, cuts[position % len(cuts)])
        position += 1
    for life in (whole, pieces):
        life.flush()
    assert pieces.bucket.objects == whole.bucket.objects


def test_the_offset_of_an_open_file_is_not_durable():
    life = Life(Bucket(), Rules(rows=100))
    life.put(rows(*range(150)), 150)
    assert life.flush() == 100


def test_with_nothing_open_the_offset_is_behind_the_last_record_read_even_when_none_is_left():
    life = Life(Bucket(), Rules(rows=2))
    life.put(rows(0, 1), 2)
    life.put([], 9)
    assert life.flush() == 9


def test_an_offset_in_the_middle_of_an_object_that_another_life_wrote_is_not_committed():
    bucket = Bucket()
    first = Life(bucket, Rules(rows=4))
    first.put([*rows(0, 1, 2), *rows(3, path="b")], 4)
    first.files.settle()
    first.upload(1)  # a [0, 4) is in the bucket, b is not, and the task dies
    second = Life(bucket, Rules(rows=2))
    second.put([*rows(0, 1), *rows(2)], 3)
    assert second.flush() == 0
    second.put(rows(3, path="b"), 4)
    assert second.flush() == 4
    assert bucket.numbers() == [0, 1, 2, 3]


def test_batches_of_one_poll_whose_offsets_interleave_end_behind_the_poll_only():
    life = Life(Bucket(), Rules(rows=2))
    life.take(batch(rows(0, 2, 4), 6, "even"))
    life.take(batch(rows(1, 3, 5), 6, "odd"))
    assert life.flush() == 6
    assert sorted(life.bucket.objects) == ["topics/even/p=a/t+3+0000.json", "topics/odd/p=a/t+3+0001.json"]


def test_a_file_does_not_end_among_the_rows_that_were_made_of_one_record():
    life = Life(Bucket(), Rules(rows=2))
    life.put([Row(offset, "a", 0, number) for number, offset in enumerate((0, 0, 0, 1, 1, 2))], 3)
    assert life.flush() == 2
    assert [numbers for _, numbers in life.bucket.objects.values()] == [[0, 1, 2], [3, 4]]


def test_rows_of_one_file_that_come_out_of_order_are_refused_as_a_replay_would_cut_them_wrongly():
    life = Life(Bucket(), Rules(rows=9))
    for offsets in ((0, 2, 4), (1, 3, 5)):
        life.take(batch(rows(*offsets), 6))
    with pytest.raises(ConnectError, match="t-3: offset 1 of topic t came after 4"):
        life.flush()


def test_an_offset_that_comes_again_is_refused_rather_than_written_twice():
    life = Life(Bucket(), Rules(rows=2))
    life.put(rows(0, 1, 2), 3)
    life.put(rows(2, 3), 4)
    with pytest.raises(ConnectError, match="t-3: offset 2 came after 2"):
        life.flush()


def test_a_changed_schema_starts_a_new_file():
    life = Life(Bucket(), Rules(rows=100), format=ParquetFormat("snappy"))
    life.put(rows(0, 1), 2)
    wider = pa.array([{"p": "a", "n": 2, "x": 1.5}])
    life.take(Batch("t", Column.from_arrow(wider), consumed=Consumed(TP, pa.array([2]), 3)))
    assert life.flush() == 2
    life.end_files()
    assert life.flush() == 3
    assert sorted(life.bucket.objects) == [f"topics/t/p=a/t+3+000{n}.snappy.parquet" for n in (0, 2)]
