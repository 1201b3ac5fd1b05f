"""Checks that a process that could not run its job is counted as none that does, however long it takes to end."""

from __future__ import annotations

import pytest

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.backfill import child as module
from connect.backfill.child import BackfillChildren
from connect.backfill.job.states import JobStateError


class Lingering:
    """A process that tells one answer, and does not end."""

    exit_code = None

    def __init__(self, answer, hear):
        if answer is not None:
            hear(answer)

    def kill(self):
        pass


@pytest.fixture
def orders():
    return []


@pytest.fixture
def children(monkeypatch, orders):
    def made(answer):
        def start(_module, order, hear, ended):
            orders.append(order)
            return Lingering(answer, hear)

        monkeypatch.setattr(module, "AnsweringChild", start)
        return BackfillChildren({})

    return made


@pytest.mark.parametrize(
    ("kind", "error"), [("refused", ConfigError), ("conflict", JobStateError), ("failed", ConnectError)]
)
def test_a_job_whose_process_answered_with_an_error_is_not_running(children, kind, error):
    made = children({"kind": kind, "answer": "Grant WRITE"})
    with pytest.raises(error, match="Grant WRITE"):
        made.answer("run", {"name": "orders"}, 5)
    assert not made.is_running("orders")


def test_a_job_whose_process_did_not_answer_is_not_running(children):
    made = children(None)
    with pytest.raises(RetriableError):
        made.answer("run", {"name": "orders"}, 0.01)
    assert not made.is_running("orders")


def test_a_job_whose_process_has_begun_is_running(children):
    made = children({"kind": "done", "answer": 7})
    assert made.answer("run", {"name": "orders"}, 5) == 7
    assert made.is_running("orders")


@pytest.mark.parametrize("work", ["run", "write_offsets"])
def test_a_process_gives_up_waiting_before_its_worker_does_and_tells_what_it_waited_for(children, orders, work):
    children({"kind": "done", "answer": 7}).answer(work, {"name": "orders"}, 90)
    assert [order["timeout_s"] for order in orders] == [85]
