"""A source whose producer cannot go on begins anew by itself while it gets on, or once in a minute, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from connect.api.errors import ConnectError
from connect.kafka.client.errors import AbortableError, FatalProducerError, FencedError
from connect.lib.deadline import Deadline
from connect.runtime.host import task_run
from connect.runtime.host.task_run import TaskRun
from connect.runtime.task.condition import NOTHING
from connect.runtime.task.messages import AsksToWrite, MayWrite, StartTask, TaskCondition, TaskState
from connect.runtime.task.state import State
from connect.runtime.task.task_metrics import TaskFigures

LOST = FatalProducerError("Failed producing: OUT_OF_ORDER_SEQUENCE_NUMBER.")


class Run(TaskRun):
    """A run whose work is scripted: each time it opens, runs, and ends by the next error; without one it ends well."""

    def __init__(self, errors: Sequence[Exception | None], *, opens: bool = True, stores: int = 0) -> None:
        self.told: list[TaskState | TaskCondition] = []
        self.closed = 0
        self._errors, self._opens, self._stores = list(errors), opens, stores
        tracing = SimpleNamespace(figures=lambda *_: TaskFigures(), send_spans=lambda: None)
        super().__init__(StartTask("c", 0, 1, "source", {}, {}), SimpleNamespace(tracing=tracing), self.told.append)

    def _run_source(self, stack: ExitStack) -> None:
        stack.callback(self._count_end)
        if self._opens:
            self._say_running()
        if self._stores:
            self._stores -= 1
            self.figures.add("commits_total")
        error = self._errors.pop(0)
        if error is not None:
            raise error

    def _count_end(self) -> None:
        self.closed += 1

    def states(self) -> list[State | None]:
        self.start()
        self._thread.join(60)
        assert not self._thread.is_alive()
        return [message.state for message in self.told if isinstance(message, TaskState) or message.condition]


@pytest.mark.parametrize("error", [LOST, AbortableError("The transaction could not be committed in time.")])
def test_a_source_begins_anew_after_an_error_of_its_producer(error: ConnectError) -> None:
    run = Run([error, None])
    assert run.states() == [State.RUNNING, State.RESTARTING, State.RUNNING, State.RUNNING, None]
    assert run.closed == 2, "the former work is closed before the next one begins"
    restarting, note = (told.condition for told in run.told if isinstance(told, TaskCondition))
    assert (restarting.reason, restarting.waiting_for) == (str(error), "restart")
    assert note.waiting_for == NOTHING
    assert "began anew from its stored offsets" in note.reason
    assert str(error) in note.reason


def test_a_second_error_within_a_minute_fails_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Run([LOST, LOST, None]).states()[-1] is State.FAILED
    monkeypatch.setattr(task_run, "RESUME_S", 0.0)
    assert Run([LOST, LOST, None]).states()[-1] is None


def test_one_error_after_the_other_fails_no_source_that_stores_offsets_between_them() -> None:
    """Under a quota, brokers answer late for as long as it is there."""
    assert Run([LOST, LOST, LOST, LOST, None], stores=4).states()[-1] is None
    stopped = Run([LOST, LOST, LOST, None], stores=2)
    assert stopped.states()[-1] is State.FAILED, "it stored nothing since it began anew last"
    assert stopped.closed == 3


@pytest.mark.parametrize("error", [FencedError("Another instance took over."), ConnectError("The topic is gone.")])
def test_what_a_new_producer_does_not_mend_fails_it(error: ConnectError) -> None:
    assert Run([error, None]).states() == [State.RUNNING, State.FAILED]


def test_a_source_that_could_not_open_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = AbortableError("Task c-0 may not write: it runs on another worker now.")
    assert Run([refused, None], opens=False).states() == [State.FAILED]


def test_a_source_that_is_to_stop_does_not_begin_anew() -> None:
    run = Run([LOST, None])
    run.stop()
    assert State.RESTARTING not in run.states()
    assert run.closed == 1


def test_the_note_is_forgotten_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run([LOST, None])
    run.states()
    run._states._state = State.RUNNING
    run.watch()
    assert run.told[-1].state is None, "it is still told"
    monkeypatch.setattr(task_run, "RESUMED_S", 0.0)
    run.watch()
    assert run.told[-1] == TaskCondition("c", 0, 1, State.RUNNING, None)


def test_each_producer_asks_anew_if_it_may_write() -> None:
    """Invariant 8: the worker may have given the task to another worker since the first producer was allowed."""
    run = Run([])
    refusals = [None, "it runs on another worker now."]

    def answer(message: object) -> None:
        assert isinstance(message, AsksToWrite)
        run.may_write(MayWrite("c", 0, 1, refusals.pop(0)))

    run._report = answer
    run._ask_to_write(Deadline.after(60))
    with pytest.raises(AbortableError, match="runs on another worker"):
        run._ask_to_write(Deadline.after(60))
