"""The ledger's law: no offset is given out before every batch of its source partition up to it is delivered."""

from hypothesis import given
from hypothesis import strategies as st

from connect.api.records import SourcePosition
from connect.runtime.ledger import OffsetLedger, partition_key


def position(partition: str, offset: int) -> SourcePosition:
    return SourcePosition({"table": partition}, {"id": offset})


def test_an_offset_waits_for_the_batches_before_it():
    ledger = OffsetLedger()
    first, second = ledger.track(position("a", 1)), ledger.track(position("a", 2))
    ledger.delivered(second)
    assert ledger.take_committable() == []
    ledger.delivered(first)
    assert ledger.take_committable() == [position("a", 2)]
    assert ledger.in_flight == 0


def test_a_stuck_partition_does_not_hold_another():
    ledger = OffsetLedger()
    ledger.track(position("stuck", 1))
    ledger.delivered(ledger.track(position("free", 7)))
    assert ledger.take_committable() == [position("free", 7)]


def test_a_position_is_given_out_once():
    ledger = OffsetLedger()
    ledger.delivered(ledger.track(position("a", 1)))
    assert ledger.take_committable() == [position("a", 1)]
    assert ledger.take_committable() == []


def test_partitions_are_equal_whatever_the_order_of_their_members():
    assert partition_key({"a": 1, "b": 2}) == partition_key({"b": 2, "a": 1})


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("track"), st.sampled_from("ab")),
            st.tuples(st.just("deliver"), st.integers(0, 30)),
            st.tuples(st.just("take"), st.just(0)),
        )
    )
)
def test_what_is_given_out_is_always_the_longest_delivered_prefix(steps):
    ledger = OffsetLedger()
    sent: dict[str, list] = {"a": [], "b": []}
    tickets = []
    given_out = {"a": 0, "b": 0}
    for step, argument in steps:
        if step == "track":
            offset = len(sent[argument]) + 1
            ticket = ledger.track(position(argument, offset))
            sent[argument].append(ticket)
            tickets.append(ticket)
        elif step == "deliver" and argument < len(tickets):
            ledger.delivered(tickets[argument])
        elif step == "take":
            for safe in ledger.take_committable():
                given_out[str(safe.partition["table"])] = safe.offset["id"]
            for name, all_sent in sent.items():
                prefix = 0
                while prefix < len(all_sent) and all_sent[prefix].delivered:
                    prefix += 1
                assert given_out[name] == prefix
