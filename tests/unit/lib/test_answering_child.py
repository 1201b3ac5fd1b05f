"""What a child process tells is heard to its end: its answer, later words, its end."""

from __future__ import annotations

import queue
from pathlib import Path

import pytest

from connect.lib.answering_child import AnsweringChild

CHILD = """
import subprocess, sys
from connect.lib.answering_child import Answers
answers = Answers()
asked = answers.request()
print("a library prints")
subprocess.run([sys.executable, "-c", "print('a program prints')"], check=True)
answers.tell(answer=asked["n"] + 1)
sys.stdin.read()
answers.tell(late="an error")
sys.exit(3)
"""
WAIT_S = 60


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def start(code: str, request: object) -> tuple[AnsweringChild, queue.SimpleQueue, queue.SimpleQueue]:
        (tmp_path / "child_of_a_test.py").write_text(code, encoding="utf-8")
        told: queue.SimpleQueue = queue.SimpleQueue()
        codes: queue.SimpleQueue = queue.SimpleQueue()
        return AnsweringChild("child_of_a_test", request, hear=told.put, ended=codes.put), told, codes

    return start


def test_what_is_told_behind_the_answer_is_heard_and_prints_are_no_answers(started):
    child, told, codes = started(CHILD, {"n": 1})
    assert told.get(timeout=WAIT_S) == {"answer": 2}
    assert child.exit_code is None
    child.cancel()
    assert told.get(timeout=WAIT_S) == {"late": "an error"}
    assert codes.get(timeout=WAIT_S) == 3
    assert child.has_ended(WAIT_S)


def test_a_child_that_ends_before_it_reads_its_request_has_ended(started):
    _, told, codes = started("raise SystemExit(4)", {"text": "x" * 1_000_000})
    assert codes.get(timeout=WAIT_S) == 4
    assert told.empty()


def test_lines_of_several_threads_stay_whole(started):
    code = """
import threading
from connect.lib.answering_child import Answers
answers = Answers()
answers.request()
threads = [threading.Thread(target=answers.tell, kwargs={"text": str(n) * 100_000}) for n in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    _, told, codes = started(code, {})
    assert codes.get(timeout=WAIT_S) == 0
    assert sorted(told.get()["text"][0] for _ in range(8)) == list("01234567")
