"""Waiting for code that may block: who gives up, what becomes of the code, and how old an answer may be."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from connect.api.errors import RetriableError
from connect.rest.figures.answer_cache import FRESH_S, HURRY_S, OLD_S, AnswerCache
from connect.rest.server.waiting import apart


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_call_goes_on_when_its_waiter_is_cancelled() -> None:
    go_on = threading.Event()

    async def give_up() -> bool:
        waiting = asyncio.ensure_future(asyncio.wrap_future(call))
        await asyncio.sleep(0)
        return waiting.cancel()

    call = apart(lambda: go_on.wait(60))
    assert asyncio.run(give_up())
    go_on.set()
    assert call.result(60)


class Topics:
    """Answers with the newest topics, as far as it answers at all."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s, self.newest, self.asked = 1_000.0, "t", 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        # The clock of asyncio goes on.
        monkeypatch.setattr("connect.rest.figures.answer_cache.time", SimpleNamespace(monotonic=lambda: self.now_s))
        monkeypatch.setattr("connect.rest.figures.answer_cache.FIRST_WAIT_S", 0.5)
        self.seldom = AnswerCache(self._answer)

    def _answer(self) -> str:
        self.asked += 1
        told = self.newest
        self.may_answer.wait(60)
        if told == "away":
            raise RetriableError("No broker answers.")
        return told

    def after(self, passed_s: float) -> str | None:
        self.now_s += passed_s
        return asyncio.run(self.seldom.value())


def test_who_looks_once_in_a_while_hears_what_is_true_now(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = Topics(monkeypatch)
    assert topics.after(0) == "t"
    topics.newest = "t, u"
    assert topics.after(120) == "t, u"
    topics.newest = "t, u, v"
    assert topics.after(120) == "t, u, v"


def test_an_answer_that_nobody_fetched_for_minutes_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = Topics(monkeypatch)
    topics.may_answer.clear()
    assert topics.after(0) is None
    topics.newest = "t, u"
    topics.may_answer.set()
    assert topics.after(120) == "t, u"


def test_nothing_is_known_where_answers_stay_out_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = Topics(monkeypatch)
    assert topics.after(0) == "t"
    topics.may_answer.clear()
    assert topics.after(FRESH_S) == "t", "the answer is on its way"
    assert topics.after(OLD_S) is None
    topics.newest = "away"
    topics.may_answer.set()
    assert topics.after(OLD_S) is None
    assert topics.asked == 3


def test_where_something_is_missing_it_is_looked_for_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    topics = Topics(monkeypatch)
    topics.after(0)
    topics.after(HURRY_S)
    assert topics.asked == 1
    topics.seldom.hurry()
    topics.after(0)
    assert topics.asked == 2
