"""Those who ask at the same time share a question, and nobody gets an answer that is older than the call."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from connect.api.errors import RetriableError
from connect.kafka.log.shared_answer import SharedAnswer
from connect.lib.deadline import Deadline

CALLERS = 50


class Server:
    """Answers with the moment of the question, when it is let; each answer takes a while."""

    def __init__(self):
        self.asked, self.begun, self.may_answer = [], threading.Semaphore(0), threading.Semaphore(0)
        self.moments = itertools.count()
        self.fails = 0

    def ask(self, deadline):
        self.asked.append(next(self.moments))
        self.begun.release()
        assert self.may_answer.acquire(timeout=60)
        if self.fails:
            self.fails -= 1
            raise RetriableError("away")
        return self.asked[-1]


@pytest.fixture
def server():
    return Server()


def waits(answers, callers):
    """Return when so many callers have been counted."""
    deadline = Deadline.after(60)
    while answers._calls < callers:
        assert deadline.wait(0.001)


def test_all_who_came_while_a_question_was_asked_share_the_next_one(server):
    answers = SharedAnswer(server.ask)
    with ThreadPoolExecutor(CALLERS) as pool:
        first = pool.submit(answers.get, Deadline.after(60))
        assert server.begun.acquire(timeout=60)
        others = [pool.submit(answers.get, Deadline.after(60)) for _ in range(CALLERS - 1)]
        waits(answers, CALLERS)
        server.may_answer.release(CALLERS)
        assert first.result(60) == 0
        assert {other.result(60) for other in others} == {1}, "what was asked before they came is too old for them"
    assert server.asked == [0, 1]


def test_a_caller_alone_asks_each_time(server):
    answers = SharedAnswer(server.ask)
    server.may_answer.release(3)
    assert [answers.get(Deadline.after(60)) for _ in range(3)] == [0, 1, 2]


def test_a_question_that_fails_costs_its_own_caller_alone(server):
    answers, server.fails = SharedAnswer(server.ask), 1
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(answers.get, Deadline.after(60))
        assert server.begun.acquire(timeout=60)
        other = pool.submit(answers.get, Deadline.after(60))
        waits(answers, 2)
        server.may_answer.release(2)
        with pytest.raises(RetriableError, match="away"):
            first.result(60)
        assert other.result(60) == 1


def test_nobody_waits_for_others_longer_than_it_may(server):
    answers = SharedAnswer(server.ask)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(answers.get, Deadline.after(60))
        assert server.begun.acquire(timeout=60)
        with pytest.raises(RetriableError, match="not answered in time"):
            answers.get(Deadline.after(0.01))
        server.may_answer.release()
        assert first.result(60) == 0
