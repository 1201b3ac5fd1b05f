"""Rows that are acknowledged whose offsets could not be stored: the next flush stores them, rows or none."""

from __future__ import annotations

import pyarrow as pa
import pytest

from connect.api.deadline import Deadline
from connect.api.errors import RetriableError
from connect.api.records import SourcePosition
from connect.kafka.raw import RawBatch
from connect.runtime.delivery import AtLeastOnceDelivery


class Kafka:
    """A producer whose rows are acknowledged at once, and offsets that cannot be stored for a while."""

    def __init__(self, away: int) -> None:
        self.away = away
        self.stored: dict[int, int] = {}

    def send(self, batch, deadline):
        pass

    def flush(self, deadline):
        pass

    def store(self, positions, deadline):
        if self.away:
            self.away -= 1
            raise RetriableError("1 of 1 offsets were not acknowledged in time.")
        self.stored |= {p.partition["p"]: p.offset["n"] for p in positions}


def test_an_offset_that_was_not_stored_in_time_is_stored_by_the_next_flush():
    kafka = Kafka(away=2)
    delivery = AtLeastOnceDelivery(kafka, kafka)
    for partition, n in ((0, 1), (1, 5), (0, 2)):
        position = SourcePosition({"p": partition}, {"n": n})
        delivery.send([RawBatch("t", pa.array([b""], pa.binary()))], position, Deadline.after(1))
        if kafka.away:
            with pytest.raises(RetriableError):
                delivery.flush(Deadline.after(1))
    assert sorted(p.offset["n"] for p in delivery.flush(Deadline.after(1))) == [2, 5]
    assert kafka.stored == {0: 2, 1: 5}
    assert delivery.flush(Deadline.after(1)) == []
