"""A job waits for a right that was taken away from it, says so, and hears meanwhile what its owner wants."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from connect.backfill import awaited_right
from connect.backfill.awaited_right import AwaitedRight
from connect.backfill.driver import Driver
from connect.backfill.job.chunk import LaneReport, Signal, denial_of
from connect.backfill.job.states import JobState
from connect.backfill.ownership import JobOwnership, UnwrittenStateError
from connect.kafka.client.errors import DeniedError

JOB = SimpleNamespace(name="orders", run="r1")
DENIED = LaneReport(0, Signal.GO_ON, error="Grant WRITE", is_denied=True)
DONE = LaneReport(1, Signal.GO_ON, chunks=3)


class Store:
    """What the topics of a job hold; DeniedError: this login may not read them."""

    def __init__(self, markers=("m",), signal=Signal.GO_ON):
        self.markers, self.signal = markers, signal

    def all_markers(self, _deadline):
        return self._allowed(self.markers)

    def jobs(self, _deadline):
        return SimpleNamespace(signal=lambda _job, _run: self._allowed(self.signal))

    def _allowed(self, answer):
        if isinstance(answer, DeniedError):
            raise answer
        return answer


class Ownership:
    """Remembers what the job's record said."""

    def __init__(self):
        self.said = []

    def say_waiting(self, _job, reason):
        self.said.append(reason)

    def say(self, _job, state):
        self.said.append(state)


class Rounds:
    """Gives these answers, one a round; an error is raised."""

    def __init__(self, *answers):
        self._answers = iter(answers)

    def run(self, *_):
        answer = next(self._answers)
        if isinstance(answer, DeniedError):
            raise answer
        return answer() if callable(answer) else answer


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr(awaited_right, "_TRY_S", 0.0)


def run_lanes(store, *answers):
    ownership = Ownership()
    runs = SimpleNamespace(_rounds=Rounds(*answers), _right=AwaitedRight(store, ownership), _splits=())
    return Driver._run_lanes(runs, None, JOB), ownership.said


def test_a_right_that_is_taken_away_is_told_and_waited_for():
    for lost in ([DENIED, DONE], DeniedError("Grant WRITE")):
        assert run_lanes(Store(), lost, [DONE]) == ([DONE], ["Grant WRITE"])


def test_what_is_told_stays_while_lanes_try_in_vain():
    other = LaneReport(0, Signal.GO_ON, error="Grant CREATE", is_denied=True)
    assert run_lanes(Store(), [DENIED], [DENIED], [other], [other], [DONE]) == ([DONE], ["Grant WRITE", "Grant CREATE"])


def test_what_is_told_is_taken_back_when_a_chunk_is_written_again(monkeypatch):
    monkeypatch.setattr(awaited_right, "_MARKERS_S", 0.001)
    store, told = Store(), threading.Event()

    class Told(Ownership):
        def say(self, job, state):
            super().say(job, state)
            told.set()

    def writes():
        looked = threading.Event()
        counted = AwaitedRight._count

        def count(right):
            looked.set()
            return counted(right)

        monkeypatch.setattr(AwaitedRight, "_count", count)
        assert looked.wait(60)
        assert ownership.said == ["Grant WRITE"], "nothing was written yet"
        store.markers = ("m", "n")
        assert told.wait(60)
        return [DONE]

    ownership = Told()
    runs = SimpleNamespace(_rounds=Rounds([DENIED], writes, [DONE]), _right=AwaitedRight(store, ownership), _splits=())
    assert Driver._run_lanes(runs, None, JOB) == [DONE]
    assert ownership.said == ["Grant WRITE", JobState.RUNNING]


def test_a_right_that_was_never_there_fails_the_job():
    assert run_lanes(Store(markers=()), [DENIED]) == ([DENIED], [])
    with pytest.raises(DeniedError, match="Grant WRITE"):
        run_lanes(Store(markers=()), DeniedError("Grant WRITE"))


@pytest.mark.parametrize("signal", [Signal.PAUSE, Signal.CANCEL, Signal.SUPERSEDED])
def test_what_the_owner_wants_is_heard_while_a_job_waits(signal):
    assert run_lanes(Store(signal=signal), [DENIED]) == ([LaneReport(0, signal)], ["Grant WRITE"])


def test_a_job_whose_own_topics_are_denied_waits_too():
    closed = Store(DeniedError("Grant READ"), DeniedError("Grant READ"))
    assert run_lanes(closed, [DENIED], [DONE])[0] == [DONE]


def test_each_right_that_lanes_lack_is_told_once():
    other = LaneReport(2, Signal.GO_ON, error="Grant CREATE", is_denied=True)
    assert denial_of([DENIED, DONE, other, DENIED]) == "Grant WRITE\nGrant CREATE"
    assert denial_of([DENIED, LaneReport(3, Signal.PAUSE)]) is None
    assert denial_of([DENIED, LaneReport(3, Signal.GO_ON, error="a bad row")]) is None
    assert denial_of([DONE]) is None


def test_a_job_whose_record_cannot_be_written_tells_why_it_failed_and_that_the_record_does_not():
    def denied(*_):
        raise DeniedError("Grant WRITE on the jobs topic")

    owner = SimpleNamespace(say=denied, _in_words=str)
    with pytest.raises(UnwrittenStateError, match=r"still says that it runs\. Grant WRITE on orders$"):
        JobOwnership.fail(owner, JOB, "Grant WRITE on orders")
