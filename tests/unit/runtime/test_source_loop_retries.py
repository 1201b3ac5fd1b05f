"""A source loop whose converter cannot go on: what was polled must not be passed over."""

from __future__ import annotations

import pytest

from connect.api import schema as s
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch, Column, SourcePosition
from connect.runtime.control import Control
from connect.runtime.figures import TaskFigures
from connect.runtime.source_loop import SourceLoop


class Task:
    """Gives one row after another."""

    def __init__(self):
        self.given = 0
        self.heard = []

    def poll(self, deadline):
        self.given += 1
        return Batch("t", Column.from_rows([self.given], s.INT32), position=SourcePosition({"p": 0}, {"n": self.given}))

    def stored(self, positions):
        self.heard += positions


class Pipeline:
    """The registry behind the converter is away."""

    def encode(self, batch):
        raise RetriableError("The schema registry does not answer (4 tries): http://r: refused.")


class Delivery:
    def __init__(self):
        self.sent = []

    def send(self, batches, position, deadline):
        self.sent.append(position)

    def flush(self, deadline):
        return []

    def check(self):
        pass

    def due(self, *, polled, interval_over):
        return False


def test_a_polled_batch_that_cannot_be_converted_for_now_ends_the_task_and_is_never_passed_over():
    task, delivery = Task(), Delivery()
    loop = SourceLoop(
        task, Pipeline(), delivery, TaskFigures(), flush_interval_s=60, flush_timeout_s=1, retry_delay_max_s=1,
        topics=None, used_topics=None,
    )  # fmt: skip
    with pytest.raises(
        ConnectError, match="batch for topic t could not be converted: The schema registry does not"
    ) as failure:
        loop.run(Control(), lambda paused: None)
    assert not isinstance(failure.value, RetriableError)
    assert (task.given, delivery.sent, task.heard) == (1, [], [])
