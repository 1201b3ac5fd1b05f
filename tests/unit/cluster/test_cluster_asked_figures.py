"""The figures of tasks are asked of task hosts, and are told by them without being asked by nobody."""

import threading

import pytest
from host_bench import Bench

from connect.cluster.hosts import asked_figures
from connect.runtime.task.messages import Figures, Heartbeat, TaskState, TellFigures
from connect.runtime.task.state import State


@pytest.fixture
def bench():
    return Bench()


def asked(host):
    return [message.number for message in host.heard if isinstance(message, TellFigures)]


def tell(host, name, rows):
    host.listener.said(host, Figures({name: {"rows_total": rows}}, {}, asked(host)[-1]))


def answering(bench, run, name, rows):
    """Start a run whose host tells such rows whenever it is asked."""
    host = bench.start(run, name)
    heard = host.send

    def send(message):
        heard(message)
        if isinstance(message, TellFigures):
            tell(host, f"{name}-0", rows())

    host.send = send
    return host


def test_hosts_are_asked_when_somebody_wants_to_know_and_once_for_all_who_want_to_soon(bench):
    hosts = [answering(bench, run, name, lambda: 7.0) for run, name in ((1, "a"), (2, "b"))]
    assert [asked(host) for host in hosts] == [[], []]
    for _ in range(3):
        assert {name: found["rows_total"] for name, found in bench.supervisor.figures().items()} == {
            "a-0": 7.0,
            "b-0": 7.0,
        }
    assert [len(asked(host)) for host in hosts] == [1, 1]
    bench.pass_s(1.0)
    bench.supervisor.figures()
    assert [len(asked(host)) for host in hosts] == [2, 2]


def test_figures_are_those_of_now(bench):
    rows = [1.0]
    answering(bench, 1, "a", lambda: rows[-1])
    assert bench.supervisor.figures()["a-0"]["rows_total"] == 1.0
    bench.pass_s(1.0)
    rows.append(2.0)
    assert bench.supervisor.figures()["a-0"]["rows_total"] == 2.0


def test_a_host_that_does_not_answer_counts_with_what_it_told_before(bench, monkeypatch):
    host = answering(bench, 1, "a", lambda: 3.0)
    bench.supervisor.figures()
    host.send = host.heard.append
    monkeypatch.setattr(asked_figures, "WAIT_S", 0.01)
    bench.pass_s(1.0)
    assert bench.supervisor.figures()["a-0"]["rows_total"] == 3.0


def test_an_answer_to_an_older_question_is_taken_and_the_newer_one_is_waited_for(bench, monkeypatch):
    monkeypatch.setattr(asked_figures, "WAIT_S", 0.01)
    host = bench.start(1, "a")
    bench.supervisor.figures()
    bench.pass_s(1.0)
    bench.supervisor.figures()
    monkeypatch.setattr(asked_figures, "WAIT_S", 30.0)
    first, second = asked(host)
    host.listener.said(host, Figures({"a-0": {"rows_total": 1.0}}, {}, first))
    found = []
    waiting = threading.Thread(target=lambda: found.append(bench.supervisor.figures()))
    waiting.start()
    host.listener.said(host, Figures({"a-0": {"rows_total": 2.0}}, {}, second))
    waiting.join(30)
    assert [one["a-0"]["rows_total"] for one in found] == [2.0]


def test_nobody_waits_for_a_host_that_is_gone(bench, monkeypatch):
    monkeypatch.setattr(asked_figures, "WAIT_S", 30.0)
    host = bench.start(1, "a")
    heard = host.send

    def send(message):
        heard(message)
        if isinstance(message, TellFigures):
            host.listener.ended(host, "was ended by signal SIGKILL")

    host.send = send
    found = []
    waiting = threading.Thread(target=lambda: found.append(bench.supervisor.figures()), daemon=True)
    waiting.start()
    waiting.join(10)
    assert found == [{}]


def test_a_host_without_tasks_is_not_asked_and_tells_of_none_any_more(bench):
    host = answering(bench, 1, "a", lambda: 3.0)
    bench.supervisor.figures()
    host.listener.said(host, TaskState("a", 0, 1, State.FAILED, "trace"))
    bench.pass_s(1.0)
    assert bench.supervisor.figures() == {}
    assert len(asked(host)) == 1


def test_a_heartbeat_is_a_sign_of_life_and_no_work_for_the_herder(bench):
    posted = []
    bench.supervisor._post = lambda description, step: posted.append(description)
    host = bench.start(1)
    for _ in range(100):
        host.listener.said(host, Heartbeat())
        bench.pass_s(0.25)
    assert posted == []
    assert host.aborted is None
