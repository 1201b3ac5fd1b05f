"""Checks that a task host's reports of each second do not grow with its tasks; it tells all else when it is asked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from connect.runtime.host import run_reports
from connect.runtime.host.run_reports import MARK_S, RunReports
from connect.runtime.host.task_run import TaskRun
from connect.runtime.task.messages import Figures, Heartbeat, LoggersKnown, StartTask, TellFigures, encode
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.task_metrics import TaskFigures


class Run:
    """A run that is idle."""

    def __init__(self):
        self.figures, self.alive, self.looks = TaskFigures(), True, 0

    def report_topics(self):
        self.looks += 1

    def watch(self):
        self.looks += 1


class Host:
    """A host's reports with a clock that is moved."""

    def __init__(self, tasks):
        self.now_s, self.sent = 0.0, []
        self.runs = {TaskId(f"idle-{number}", 0): Run() for number in range(tasks)}
        self.reports = RunReports(self.runs, self.sent.append, lambda: self.now_s)

    def pass_seconds(self, seconds):
        """Return the bytes said in so many seconds."""
        before = len(self.sent)
        for _ in range(seconds):
            self.now_s += 1.0
            self.reports.report()
        return sum(len(encode(message)) for message in self.sent[before:])


@pytest.fixture
def told():
    """A host that has told its loggers."""

    def make(tasks):
        host = Host(tasks)
        host.pass_seconds(1)
        return host

    return make


def test_what_is_said_each_second_is_as_much_for_a_thousand_idle_tasks_as_for_one(told):
    few, many = told(1), told(1000)
    assert many.pass_seconds(60) == few.pass_seconds(60) <= 60 * 100
    assert {type(message) for message in many.sent} == {Heartbeat, LoggersKnown}
    assert all(run.looks == 2 * 61 for run in many.runs.values()), "each run is looked at all the same"


def test_who_asks_is_told_all_figures_with_the_number_of_the_question(told):
    host = told(3)
    host.reports.ask(TellFigures(42))
    host.reports.report()
    answer = host.sent[-1]
    assert isinstance(answer, Figures)
    assert answer.number == 42
    assert set(answer.tasks) == {"idle-0-0", "idle-1-0", "idle-2-0"}
    assert answer.process["host_cpu_s_total"] > 0


def test_questions_keep_no_heartbeat_waiting(told):
    host = told(1)
    for number in range(5):
        host.reports.ask(TellFigures(number))
    host.now_s += 1.0
    host.reports.report()
    assert isinstance(host.sent[-1], Heartbeat)
    for _ in range(5):
        host.reports.report()
    assert [message.number for message in host.sent[-5:]] == [0, 1, 2, 3, 4]


def test_a_run_that_has_ended_is_forgotten_and_its_memory_given_back(told, monkeypatch):
    given_back = []
    monkeypatch.setattr(run_reports, "give_back_freed_memory", lambda: given_back.append(True))
    host = told(2)
    host.runs[TaskId("idle-0", 0)].alive = False
    host.pass_seconds(2)
    assert list(host.runs) == [TaskId("idle-1", 0)]
    assert given_back == [True]


def test_a_run_that_has_yet_to_begin_is_kept(told):
    host, figures = told(0), TaskFigures()
    clients = SimpleNamespace(tracing=SimpleNamespace(figures=lambda *_: figures))
    run = TaskRun(StartTask("late", 0, 1, "source", {}, {}), clients, host.sent.append)
    host.runs[run.id] = run
    host.pass_seconds(3)
    assert list(host.runs) == [run.id]


def test_rates_are_marked_though_nobody_asks(told, monkeypatch):
    host = told(1)
    marks = []
    monkeypatch.setattr(TaskFigures, "mark_rates", lambda _: marks.append(host.now_s))
    host.pass_seconds(round(3 * MARK_S))
    assert marks == [MARK_S * n + 1 for n in (1, 2, 3)][: len(marks)]
    assert len(marks) >= 2


def test_a_heartbeat_is_said_first_of_all():
    host = Host(1)
    host.reports.report()
    assert isinstance(host.sent[0], Heartbeat)


def test_an_answer_holds_the_figures_of_a_run(told):
    host = told(1)
    next(iter(host.runs.values())).figures.add("rows_total", 5)
    host.reports.ask(TellFigures(1))
    host.reports.report()
    assert SimpleNamespace(**host.sent[-1].tasks["idle-0-0"]).rows_total == 5
