"""Each note that an application writes into PostgreSQL's log is numbered in its transaction, and is told once."""

from __future__ import annotations

import struct

import pytest
from jdbc_pgoutput import Log, read_back

from connect.api.errors import ConnectError
from connectors.jdbc.debezium.notes import wanted_prefixes
from connectors.jdbc.log.postgres.notes import NOTES, Notes, note_places, undelivered
from connectors.jdbc.log.postgres.pgoutput import LogState, Messages, decode
from connectors.jdbc.log.shared.position import Coordinate, LogPosition, TransactionProgress


@pytest.fixture
def log() -> Log:
    """One note alone, a transaction of two notes and two rows, and one more alone."""
    log = Log()
    log.note("beat", b"0", within=False)
    log.begin(7)
    log.relation(1, "a", [("id", 23)])
    log.note("one", b"a")
    log.insert(1, ["1"])
    log.insert(1, ["2"])
    log.note("two", b"\0\xff")
    log.commit()
    log.note("beat", b"1", within=False)
    return log


def _notes(messages: list[bytes], state: LogState) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for item in decode(Messages.of(messages), state):
        if isinstance(item, Notes):
            origin = item.origin
            found += zip(
                item.prefixes, item.contents, item.stands_alone.tolist(), origin.final_lsn.tolist(),
                origin.place.tolist(), origin.xid.tolist(), item.changes_before.tolist(), strict=True,
            )  # fmt: skip
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 5, 9])
def test_notes_are_numbered_in_their_transaction_however_the_log_is_cut(log: Log, size: int) -> None:
    state, found = LogState(), []
    for first in range(0, len(log.messages), size):
        found += _notes(log.messages[first : first + size], state)
    assert [one[:3] for one in found] == [
        ("beat", b"0", True), ("one", b"a", False), ("two", b"\0\xff", False), ("beat", b"1", True),
    ]  # fmt: skip
    final_lsn = log.final_lsn
    assert [one[3:] for one in found[1:3]] == [(final_lsn, 1, 7, 0), (final_lsn, 2, 7, 2)]
    assert found[0][3] < final_lsn < found[3][3]
    assert [one[4:6] for one in (found[0], found[3])] == [(0, 0), (0, 0)]


def test_notes_do_not_count_among_the_changes(log: Log) -> None:
    """Positions that earlier releases stored within a transaction name its rows."""
    assert [change[3] for change in read_back(log.messages)] == [1, 2]


def test_the_next_transaction_numbers_its_notes_anew(log: Log) -> None:
    state = LogState()
    _notes(log.messages, state)
    log.messages.clear()
    log.begin(8)
    log.note("one", b"b")
    log.commit()
    assert [one[4] for one in _notes(log.messages, state)] == [1]


def test_a_content_that_is_longer_than_its_message_is_an_error(log: Log) -> None:
    broken = log.messages[0][:-5] + struct.pack(">I", 1 << 20) + b"0"
    with pytest.raises(ConnectError, match="none of pgoutput's"):
        _notes([broken], LogState())


def _all(log: Log) -> Notes:
    (notes,) = (item for item in decode(Messages.of(log.messages), LogState()) if isinstance(item, Notes))
    return notes


def test_what_was_delivered_before_does_not_come_again(log: Log) -> None:
    notes = _all(log)
    places = list(zip(notes.origin.final_lsn.tolist(), notes.origin.place.tolist(), strict=True))
    assert undelivered(notes, LogPosition(1)).all()
    for number, place in enumerate(places):
        position = LogPosition(1, reached=Coordinate(log.final_lsn, 2), ahead={NOTES: Coordinate(*place)})
        assert undelivered(notes, position).tolist() == [at > number for at in range(4)]


def test_a_note_alone_right_before_a_commit_is_none_of_the_transactions() -> None:
    """Its LSN is where its record ends, which is where the record of the commit begins."""
    log = Log()
    log.note("beat", b"0", within=False)
    log.begin(7)
    log.final_lsn = log.lsn - 1
    log.messages[-1] = log.messages[-1][:26] + struct.pack(">Q", log.final_lsn) + log.messages[-1][34:]
    log.note("one", b"a")
    notes = _all(log)
    assert notes.origin.final_lsn.tolist() == [log.final_lsn] * 2
    done = Coordinate(int(notes.origin.final_lsn[0]), int(notes.origin.place[0]))
    assert undelivered(notes, LogPosition(1, ahead={NOTES: done})).tolist() == [False, True]


def test_what_debezium_delivered_does_not_come_again(log: Log) -> None:
    notes = _all(log)
    alone, first, second, _ = notes.origin.lsn.tolist()
    told = TransactionProgress(7, first + 1, 1)
    assert undelivered(notes, LogPosition(alone, told=told)).tolist() == [False, False, True, True]
    told = TransactionProgress(7, second, 1)
    assert undelivered(notes, LogPosition(alone, told=told)).tolist() == [False, False, False, True]


def test_a_note_is_behind_the_changes_before_it(log: Log) -> None:
    places = note_places(_all(log))
    # The first change of a transaction has the numbers from 4 on, the second one those from 8 on.
    assert places.orders.tolist()[1:3] == [3, 11]
    assert places.numbers.tolist() == [-1, log.final_lsn, log.final_lsn, -1]


@pytest.mark.parametrize(
    ("included", "excluded", "wanted"),
    [
        ((), (), {"beat", "Order.made"}), (("BEAT",), (), {"beat"}), ((), ("be.*",), {"Order.made"}),
        (("order\\..*", "x"), (), {"Order.made"}), ((), ("eat",), {"beat", "Order.made"}),
    ],
)  # fmt: skip
def test_prefixes_are_chosen_by_whole_names_in_any_case(
    included: tuple[str, ...], excluded: tuple[str, ...], wanted: set[str]
) -> None:
    is_wanted = wanted_prefixes(included, excluded)
    assert {prefix for prefix in ("beat", "Order.made") if is_wanted(prefix)} == wanted
