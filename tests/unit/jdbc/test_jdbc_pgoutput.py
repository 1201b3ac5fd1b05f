"""Checks the decoder of pgoutput: what was written comes back, however the messages are cut into chunks."""

from __future__ import annotations

import random
import struct
from operator import itemgetter

import pyarrow as pa
import pytest
from drawn_cases import quick_first
from hypothesis import given, settings
from hypothesis import strategies as st
from jdbc_pgoutput import EPOCH_US, Log, read_back, rows_of

from connect.api.errors import ConnectError
from connectors.jdbc.log.postgres.notes import Notes
from connectors.jdbc.log.postgres.origins import source_members
from connectors.jdbc.log.postgres.pgoutput import Changes, LogState, Messages, decode

COLUMNS = [("id", 23), ("name", 25), ("note", 25)]


@pytest.fixture
def log() -> Log:
    made = Log()
    made.begin(7, EPOCH_US + 5)
    made.relation(1, "a", COLUMNS)
    return made


def test_inserts_updates_and_deletes_come_in_order_with_their_place_in_the_transaction(log):
    log.insert(1, ["1", "one", None])
    log.update(1, ["1", "eins", ...])
    log.update(1, ["2", "zwei", ""], old=["1", None, None])
    log.delete(1, ["2", None, None])
    log.commit()
    assert read_back(log.messages) == [
        ("a", "I", 2000, 1, None, ("1", "one", None)),
        ("a", "U", 2000, 2, None, ("1", "eins", ...)),
        ("a", "U", 2000, 3, ("1", None, None), ("2", "zwei", "")),
        ("a", "D", 2000, 4, ("2", None, None), None),
    ]


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_change_tells_the_server_that_its_transaction_was_replicated_from(log, cut):
    log.insert(1, ["1", None, None])
    log.commit()
    for number, name in ((2, "peer"), (3, ""), (4, None)):
        log.begin(number)
        if name is not None:
            log.sender(name, 70 + number)
        log.insert(1, [str(number), None, None])
        log.note("p", b"within")
        log.truncate(1)
        log.note("p", b"alone", within=False)
        log.commit()
    found, state = [], LogState()
    for first in range(0, len(log.messages), cut):
        for item in decode(Messages.of(log.messages[first : first + cut]), state):
            told = source_members(item.origin)
            nothing = pa.nulls(len(item.origin))
            names, lsns = (told.get(name, nothing).to_pylist() for name in ("origin", "origin_lsn"))
            alone = item.stands_alone.tolist() if isinstance(item, Notes) else [False] * len(names)
            found += [
                (xid, *of) for xid, is_alone, *of in zip(item.origin.xid.tolist(), alone, names, lsns, strict=True)
                if not is_alone
            ]  # fmt: skip
            assert all(name is None for name, is_alone in zip(names, alone, strict=True) if is_alone)
    wanted = [*[(2, "peer", 72)] * 3, *[(3, "", 73)] * 3, *[(4, None, None)] * 3, (7, None, None)]
    assert sorted(found, key=itemgetter(0)) == wanted


def test_a_large_value_that_the_log_leaves_out_comes_from_the_row_before(log):
    log.insert(1, ["long", "one", "note"])
    log.update(1, [..., "eins", ...], old=["long", None, None])
    log.relation(2, "b", COLUMNS, "f")
    log.update(2, [..., "zwei", ...], old=["long", "two", "note"], mark=b"O")
    log.update(1, [..., "uno", ...])
    log.commit()
    assert [change[5] for change in read_back(log.messages)] == [
        ("long", "one", "note"), ("long", "eins", ...), ("long", "zwei", "note"), (..., "uno", ...),
    ]  # fmt: skip


def test_a_chunk_that_ends_within_a_transaction_is_gone_on_with(log):
    for i in range(4):
        log.insert(1, [str(i), None, None])
    log.commit()
    state = LogState()
    first = read_back(log.messages[:4], state)
    assert (state.is_open, state.place, state.final_lsn, state.xid, state.commit_end_lsn) == (True, 2, 2000, 7, 0)
    second = read_back(log.messages[4:], state)
    assert (state.is_open, state.commit_end_lsn, state.commit_us) == (False, 2005, EPOCH_US + 5)
    assert [change[2:4] for change in [*first, *second]] == [(2000, 1), (2000, 2), (2000, 3), (2000, 4)]


def test_rows_around_a_change_of_columns_are_read_by_their_own_columns(log):
    log.insert(1, ["1", "one", None])
    log.relation(1, "a", [*COLUMNS, ("more", 23)])
    log.insert(1, ["2", "two", None, "3"])
    assert [change[5] for change in read_back(log.messages)] == [("1", "one", None), ("2", "two", None, "3")]


def test_columns_that_change_places_and_back_within_a_batch_keep_their_own_names(log):
    swapped = [("id", 23), ("note", 25), ("name", 25)]
    log.insert(1, ["1", "n1", "t1"])
    log.relation(1, "a", swapped)
    log.insert(1, ["2", "t2", "n2"])
    log.relation(1, "a", COLUMNS)
    log.insert(1, ["3", "n3", "t3"])
    state = LogState()
    read_back(log.messages[:2], state)
    found = [
        (tuple(column.name for column in item.relation.columns), row[5])
        for item in decode(Messages.of(log.messages[2:]), state)
        for row in rows_of(item)
    ]
    names, others = ("id", "name", "note"), ("id", "note", "name")
    assert found == [(names, ("1", "n1", "t1")), (others, ("2", "t2", "n2")), (names, ("3", "n3", "t3"))]


def test_a_column_that_comes_and_goes_within_a_batch_is_in_the_rows_between(log):
    state = LogState()
    read_back(log.messages, state)
    first = len(log.messages)
    log.relation(1, "a", [*COLUMNS, ("more", 23)])
    log.insert(1, ["2", "two", None, "3"])
    log.relation(1, "a", COLUMNS)
    log.insert(1, ["3", "three", None])
    found = read_back(log.messages[first:], state)
    assert [change[5] for change in found] == [("2", "two", None, "3"), ("3", "three", None)]


def test_a_truncation_stands_between_what_was_before_and_after_it(log):
    log.relation(2, "b", COLUMNS)
    log.insert(1, ["1", None, None])
    log.truncate(1, 2)
    log.insert(1, ["2", None, None])
    found = read_back(log.messages)
    assert found[1] == ("T", ("a", "b"))
    assert [change[3] for change in (found[0], found[2])] == [1, 3]


def test_what_the_log_did_not_describe_is_refused(log):
    log.insert(9, ["1"])
    with pytest.raises(ConnectError, match="oid 9"):
        read_back(log.messages)


def test_a_message_of_another_protocol_is_refused(log):
    log.add(b"S" + bytes(5))
    with pytest.raises(ConnectError, match="'S'"):
        list(decode(Messages.of(log.messages), LogState()))


VALUES = st.one_of(st.none(), st.text(max_size=12).filter(lambda t: "\0" not in t), st.just(...))
ROWS = st.tuples(VALUES, VALUES, VALUES)
STEPS = st.one_of(
    st.tuples(st.just("insert"), st.integers(1, 2), ROWS),
    st.tuples(st.just("update"), st.integers(1, 2), ROWS, st.one_of(st.none(), ROWS), st.sampled_from([b"K", b"O"])),
    st.tuples(st.just("delete"), st.integers(1, 2), ROWS, st.sampled_from([b"K", b"O"])),
    st.just(("commit",)),
)


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=30), st.lists(st.integers(1, 9), max_size=8))
def test_any_changes_cut_anywhere_come_back_as_written(steps, cuts):
    log, wanted, place = Log(), [], 0
    log.begin(1)
    log.relation(1, "a", COLUMNS)
    log.relation(2, "b", COLUMNS)
    for kind, *given_values in steps:
        if kind == "commit":
            log.commit()
            log.begin(2)
            place = 0
            continue
        oid, row, *rest = given_values
        place += 1
        getattr(log, kind)(oid, row, *rest)
        old = rest[0] if kind == "update" else row if kind == "delete" else None
        new = None if kind == "delete" else row
        if new is not None and new[0] is ... and old is not None:
            new = (old[0], *new[1:])  # the first column is the key
        wanted.append(("ab"[oid - 1], kind[0].upper(), log.final_lsn, place, old, new))
    state, found, rest = LogState(), [], log.messages
    for size in [*cuts, len(rest)]:
        part, rest = rest[:size], rest[size:]
        # Within a chunk tables come one after the other; each keeps its order.
        if part:
            found += sorted(read_back(part, state), key=lambda change: change[2:4])
    assert found == wanted


@pytest.mark.attacks
@pytest.mark.parametrize("size", [5, 50, 1 << 20, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_a_value_that_is_longer_than_its_message_shows_no_memory_of_the_worker(log, size):
    log.insert(1, ["1", None, "last"])
    log.messages[-1] = log.messages[-1][:-8] + struct.pack(">I", size) + b"last"
    with pytest.raises(ConnectError, match="beyond its row"):
        read_back(log.messages)


@pytest.mark.parametrize("seed", quick_first(2, of=8))
def test_rubbish_in_the_log_is_an_error_or_values_that_were_sent(log, seed):
    draw = random.Random(seed)
    for number in range(3):
        log.insert(1, [str(number), "text" * number, None])
    log.update(1, ["1", "b", ...], old=["1", "a", "2.5"], mark=b"O")
    log.delete(1, ["1", None, None])
    log.truncate(1)
    log.commit()
    for _ in range(200):
        messages = [bytearray(one) for one in log.messages]
        for _ in range(draw.randrange(1, 4)):
            _spoil(draw, draw.choice(messages))
        try:
            found = list(_values_of(messages))
        except ConnectError:
            continue
        assert all(value in b"".join(messages) for value in found)


def _values_of(messages):
    for item in decode(Messages.of(messages), LogState()):
        for cells in (*item.before, *item.after) if isinstance(item, Changes) else ():
            yield from filter(None, item.buffer.values([cells])[0].to_pylist())


def _spoil(draw, message):
    at = draw.randrange(25, len(message)) if len(message) > 25 else 0
    match draw.randrange(4):
        case 0:
            message[at : at + 1] = draw.randbytes(1)
        case 1:
            del message[max(at, 25) :]
        case 2:
            message[at : at + 4] = draw.choice([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\x30"])
        case 3:
            message[at:at] = draw.randbytes(draw.randrange(40))
