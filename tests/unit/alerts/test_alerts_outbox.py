"""Events wait for a receiver that fails: in order, none twice, the oldest dropped when too many wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from connect.alerts.changes import Event
from connect.alerts.facts import Alert, Kind, Subject
from connect.alerts.leader_delivery import while_leading
from connect.alerts.outbox import Outbox
from connect.alerts.webhook import UndeliveredError

WAIT_S = 60.0


def event(number: int) -> Event:
    return Event(Alert(Subject(Kind.LAG, f"c{number}"), "", 0), False, 0, "")


def name(told: Event) -> str:
    return told.alert.subject.name


class Receiver:
    """Fails as it is told to, by the name of the connector, and remembers what it took."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.taken: list[str] = []
        self.changed = threading.Condition()
        self.open = threading.Event()
        self.open.set()
        self.asked = threading.Event()

    def deliver(self, told: Event) -> None:
        self.asked.set()
        self.open.wait(WAIT_S)
        with self.changed:
            if self.failures:
                raise self.failures.pop(0)
            self.taken.append(name(told))
            self.changed.notify_all()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, WAIT_S), self.taken


@contextmanager
def outbox(receiver: Receiver, most: int = 1000) -> Iterator[tuple[Outbox, list[str]]]:
    told: list[str] = []
    box = Outbox(receiver.deliver, lambda event: told.append(name(event)), most=most, again_s=0.001)
    try:
        yield box, told
    finally:
        receiver.open.set()
        box.close()


def test_what_fails_is_tried_again_in_order_and_taken_once():
    receiver = Receiver(UndeliveredError("away"), UndeliveredError("HTTP 500"), UndeliveredError("slow"))
    with outbox(receiver) as (box, told):
        box.add([event(1), event(2)])
        receiver.wait_for(lambda: len(receiver.taken) == 2)
    assert receiver.taken == told == ["c1", "c2"]
    assert box.counts() == {"sent": 2, "failed": 3, "dropped": 0}


@pytest.mark.parametrize("failure", [UndeliveredError("HTTP 400", is_final=True), ZeroDivisionError()])
def test_what_is_refused_for_good_keeps_nothing_from_being_sent(failure):
    receiver = Receiver(failure)
    with outbox(receiver) as (box, told):
        box.add([event(1), event(2)])
        receiver.wait_for(lambda: receiver.taken == ["c2"])
    assert told == ["c2"]
    assert box.counts() == {"sent": 1, "failed": 1, "dropped": 1}


def test_what_cannot_be_remembered_keeps_nothing_from_being_sent():
    receiver = Receiver()
    box = Outbox(receiver.deliver, lambda event: {}["no place for it"])
    box.add([event(1), event(2)])
    receiver.wait_for(lambda: len(receiver.taken) == 2)
    box.close()
    assert box.counts() == {"sent": 2, "failed": 0, "dropped": 0}


def test_the_oldest_is_dropped_when_too_many_wait_and_the_one_under_way_is_not_sent_again():
    receiver = Receiver()
    receiver.open.clear()
    with outbox(receiver, most=3) as (box, _):
        box.add([event(0)])
        assert receiver.asked.wait(WAIT_S)
        box.add(event(number) for number in range(1, 6))
        receiver.open.set()
        receiver.wait_for(lambda: receiver.taken[-1:] == ["c5"])
    assert receiver.taken == ["c0", "c3", "c4", "c5"]
    assert box.counts()["dropped"] == 3


def test_what_another_worker_tells_is_forgotten():
    receiver = Receiver()
    receiver.open.clear()
    with outbox(receiver) as (box, _):
        box.add([event(1), event(2)])
        assert receiver.asked.wait(WAIT_S)
        box.clear()
        box.add([event(3)])
        receiver.open.set()
        receiver.wait_for(lambda: receiver.taken[-1:] == ["c3"])
    assert receiver.taken == ["c1", "c3"]


def test_it_closes_while_a_receiver_does_not_answer_and_while_one_is_away():
    for receiver in (Receiver(), Receiver(*[UndeliveredError("away")] * 1000)):
        if not receiver.failures:
            receiver.open.clear()
        box = Outbox(receiver.deliver, lambda event: None, again_s=WAIT_S)
        box.add([event(1)])
        assert receiver.asked.wait(WAIT_S)
        closing = threading.Thread(target=box.close)
        closing.start()
        closing.join(WAIT_S / 2)
        assert not closing.is_alive()
        receiver.open.set()


def test_what_is_forgotten_while_it_is_asked_who_leads_is_not_sent():
    """A frozen leader goes on between its queue and its question; it leads again before that is answered."""
    receiver, asked = Receiver(), threading.Event()

    def leads() -> bool:
        if not asked.is_set():
            box.clear()
            box.add([event(2)])
            asked.set()
        return True

    def waits(queued: Event) -> bool:
        return box.waits(queued)

    box = Outbox(while_leading(leads, receiver.deliver, waits), lambda _: None, again_s=0.001)
    box.add([event(1)])
    receiver.wait_for(lambda: bool(receiver.taken))
    box.close()
    assert receiver.taken == ["c2"]
