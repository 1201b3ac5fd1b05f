"""Checks the ledger's law: no offset is given out before every batch of its source partition up to it is delivered."""

from hypothesis import given
from hypothesis import strategies as st

from connect.api.records import SourcePosition
from connect.kafka.produce.receipt import Receipt
from connect.runtime.source.ledger import OffsetLedger, partition_key


def track(ledger, position) -> Receipt:
    """A batch of one part, on its way."""
    receipt = Receipt()
    receipt.expect()
    ledger.track(position, receipt)
    return receipt


def position(partition: str, offset: int) -> SourcePosition:
    return SourcePosition({"table": partition}, {"id": offset})


def test_an_offset_waits_for_the_batches_before_it():
    ledger = OffsetLedger()
    first, second = track(ledger, position("a", 1)), track(ledger, position("a", 2))
    second.acknowledge()
    assert ledger.take_committable() == []
    assert not ledger.is_settled
    first.acknowledge()
    assert ledger.is_settled
    assert ledger.take_committable() == [position("a", 2)]


def test_a_stuck_partition_does_not_hold_another():
    ledger = OffsetLedger()
    track(ledger, position("stuck", 1))
    track(ledger, position("free", 7)).acknowledge()
    assert ledger.take_committable() == [position("free", 7)]


def test_a_position_is_given_out_once():
    ledger = OffsetLedger()
    track(ledger, position("a", 1)).acknowledge()
    assert ledger.take_committable() == [position("a", 1)]
    assert ledger.take_committable() == []


def test_a_batch_without_rows_moves_its_partition_once_those_before_it_are_delivered():
    ledger = OffsetLedger()
    first = track(ledger, position("a", 1))
    ledger.track(position("a", 2), Receipt())
    assert ledger.take_committable() == []
    first.acknowledge()
    assert ledger.take_committable() == [position("a", 2)]


def test_a_partition_is_late_when_the_same_batch_holds_it_back_at_two_looks():
    ledger = OffsetLedger()
    stuck, slow = track(ledger, position("stuck", 1)), track(ledger, position("slow", 1))
    assert ledger.take_late() == []
    slow.acknowledge()
    track(ledger, position("slow", 2))
    ledger.take_committable()
    assert ledger.take_late() == [position("stuck", 1)]
    stuck.acknowledge()
    assert ledger.take_late() == [position("slow", 2)]


def test_a_delivered_batch_does_not_pass_an_undelivered_one_as_more_come():
    ledger = OffsetLedger()
    first, second = track(ledger, position("a", 1)), track(ledger, position("a", 2))
    second.acknowledge()
    track(ledger, position("a", 3))
    assert ledger.take_committable() == []
    first.acknowledge()
    assert ledger.take_committable() == [position("a", 2)]


def test_delivered_batches_are_not_kept_however_rarely_the_ledger_is_asked():
    ledger = OffsetLedger()
    for offset in range(1000):
        track(ledger, position("a", offset)).acknowledge()
    assert sum(len(tickets) for tickets in ledger._in_flight.values()) <= 3
    assert ledger.take_committable() == [position("a", 999)]


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
    receipts: list[Receipt] = []
    given_out = {"a": 0, "b": 0}
    for step, argument in steps:
        if step == "track":
            offset = len(sent[argument]) + 1
            receipt = track(ledger, position(argument, offset))
            sent[argument].append(receipt)
            receipts.append(receipt)
        elif step == "deliver" and argument < len(receipts) and not receipts[argument].is_settled:
            receipts[argument].acknowledge()
        elif step == "take":
            for safe in ledger.take_committable():
                given_out[str(safe.partition["table"])] = safe.offset["id"]
            for name, all_sent in sent.items():
                prefix = 0
                while prefix < len(all_sent) and all_sent[prefix].is_settled:
                    prefix += 1
                assert given_out[name] == prefix
