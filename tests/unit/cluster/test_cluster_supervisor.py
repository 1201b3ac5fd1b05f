import pytest
from host_bench import KEEP_CALL_HOST_S, Bench

from connect.cluster.hosts.forked_host import NOT_MADE
from connect.cluster.hosts.host_pool import IDLE_S, SPARE_PAUSE_S
from connect.cluster.hosts.host_watch import ABORT_TICKS, SILENT_TICKS
from connect.cluster.hosts.lease import EXIT_CODE, LEASE_OVER
from connect.cluster.hosts.suspects import FEW, PROBATION_S
from connect.cluster.hosts.task_host import CrashReport
from connect.runtime.task.messages import Call, CallResult, Heartbeat, StartTask, StopTask, TaskState
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId


@pytest.fixture
def bench():
    return Bench()


def test_hosts_are_started_when_needed_and_then_shared_evenly(bench):
    hosts = [bench.start(run) for run in (1, 2, 3, 4)]
    assert len(bench.hosts) == 2
    assert [hosts.count(host) for host in bench.hosts] == [2, 2]


def test_an_idle_host_is_used_before_another_is_started(bench):
    host = bench.start(1)
    host.listener.said(host, TaskState("c", 0, 1, None))
    assert bench.start(2) is host


def test_an_isolated_connector_shares_with_nobody_and_its_host_goes_with_its_tasks(bench):
    shared = bench.start(1, "a")
    own = bench.start(2, "b", isolated=True)
    assert own is not shared
    assert bench.start(3, "b", isolated=True) is own
    for run in (2, 3):
        own.listener.said(own, TaskState("b", 0, run, None))
    bench.pass_s(0)
    assert own.closed
    assert not shared.closed


def test_a_host_is_kept_ready_as_far_as_there_may_be_one_more(bench):
    bench.supervisor.pool.keep_ready(True)
    assert len(bench.hosts) == 1
    bench.pass_s(IDLE_S + 1)
    assert not bench.hosts[0].closed
    assert bench.start(1) is bench.hosts[0]
    bench.pass_s(0.25)
    assert len(bench.hosts) == 2
    assert bench.start(2) is bench.hosts[1]
    bench.pass_s(0.25)
    assert len(bench.hosts) == 2
    bench.supervisor.pool.keep_ready(False)
    for run in (1, 2):
        bench.supervisor.said(bench.hosts[run - 1], TaskState("c", 0, run, None))
    bench.pass_s(IDLE_S + 1)
    assert [host.closed for host in bench.hosts] == [True, True]


def test_the_host_kept_ready_becomes_the_own_one_of_an_isolated_connector(bench):
    bench.supervisor.pool.keep_ready(True)
    own = bench.start(1, "own", isolated=True)
    assert own is bench.hosts[0]
    bench.pass_s(0.25)
    assert bench.start(2, "shared") is bench.hosts[1]


def test_hosts_kept_ready_that_die_are_not_made_anew_at_once(bench):
    bench.supervisor.pool.keep_ready(True)
    bench.supervisor.ended(bench.hosts[0], "ended with exit code 1")
    bench.pass_s(0.25)
    assert len(bench.hosts) == 1
    bench.pass_s(SPARE_PAUSE_S)
    assert len(bench.hosts) == 2


def test_a_host_without_tasks_ends_after_a_while(bench):
    host = bench.start(1)
    host.listener.said(host, TaskState("c", 0, 1, None))
    bench.pass_s(IDLE_S - 1)
    assert not host.closed
    bench.pass_s(1)
    assert host.closed


def test_a_task_that_does_not_stop_has_its_host_killed_and_all_its_runs_end(bench):
    bench = Bench(hosts=1)
    host = bench.start(1, "hung")
    bench.start(2, "ok")
    bench.supervisor.stop(TaskId("hung", 0), 1, timeout_s=5)
    assert host.heard[-1] == StopTask("hung", 0, 1, 5)
    bench.pass_s(5.9)
    assert host.killed is None
    bench.pass_s(0.2)
    assert "hung-0 did not stop in time" in host.killed
    host.listener.ended(host, host.killed)
    assert [(c.connector, c.state) for c in bench.changes] == [("hung", None), ("ok", None)]


def test_no_task_is_put_on_a_host_that_was_just_killed(bench):
    bench = Bench(hosts=1)
    host = bench.start(1)
    bench.supervisor.stop(TaskId("c", 0), 1, timeout_s=0)
    bench.pass_s(2)
    assert host.killed
    assert bench.start(2) is not host


def test_a_host_that_dies_fails_its_tasks_and_says_how(bench):
    host = bench.start(1)
    host.listener.ended(host, "was ended by signal SIGSEGV")
    (change,) = bench.changes
    assert (change.state, change.retriable) == (State.FAILED, True)
    assert change.trace == f"The task host of this task (pid {host.pid}) was ended by signal SIGSEGV."
    assert bench.start(2) is not host


def test_the_end_of_a_host_tells_what_each_task_was_doing_and_the_stacks(bench):
    bench = Bench(hosts=1)
    host = bench.start(1, "a")
    bench.start(2, "b")
    host.crash_report = CrashReport({1: "put"}, "Current thread: in put")
    host.listener.ended(host, "was ended by signal SIGSEGV")
    first, second = bench.changes
    assert "This task was in put at that time." in first.trace
    assert "at that time" not in second.trace
    assert "Current thread: in put" in second.trace


def test_connectors_whose_host_died_are_kept_apart_for_a_while(bench):
    bench = Bench(hosts=1)
    host = bench.start(1, "a")
    bench.start(2, "b")
    host.listener.ended(host, "was ended by signal SIGSEGV")
    again = {name: bench.start(run, name) for run, name in ((3, "a"), (4, "b"), (5, "other"))}
    assert len(set(again.values())) == 3
    bench.pass_s(PROBATION_S)
    assert bench.start(6, "a") is again["other"]


def test_a_host_that_ends_with_the_lease_makes_nobody_suspect_and_fails_no_task(bench):
    bench = Bench(hosts=1)
    bench.supervisor.ended(bench.start(1, "a"), LEASE_OVER)
    assert [(change.run, change.state) for change in bench.changes] == [(1, None)]
    assert bench.start(2, "a") is bench.start(3, "b")


def test_a_plugin_that_ends_with_the_exit_code_of_a_lease_fails_its_task_and_is_suspect(bench):
    bench = Bench(hosts=1)
    bench.supervisor.ended(bench.start(1, "a"), f"ended with exit code {EXIT_CODE}")
    assert [(change.run, change.state) for change in bench.changes] == [(1, State.FAILED)]
    assert bench.start(2, "a") is not bench.start(3, "b")


def test_many_suspects_share_a_few_hosts(bench):
    bench = Bench(hosts=1)
    host = None
    for run in range(100):
        host = bench.start(run, f"c{run}")
    host.listener.ended(host, "was ended by signal SIGSEGV")
    again = {bench.start(run, f"c{run - 1000}") for run in range(1000, 1100)}
    assert 1 < len(again) <= FEW


def look(bench, times):
    for _ in range(times):
        bench.pass_s(0)


def test_a_host_that_gives_no_sign_of_life_is_ended_with_its_stacks(bench):
    host = bench.start(1)
    look(bench, 2 * SILENT_TICKS)
    assert host.aborted is None  # it has yet to begin
    host.listener.said(host, Heartbeat())
    look(bench, SILENT_TICKS)
    assert host.aborted is None
    host.listener.said(host, Heartbeat())
    look(bench, SILENT_TICKS)
    assert host.aborted is None
    look(bench, 1)
    assert "no sign of life" in host.aborted
    look(bench, ABORT_TICKS - 1)
    assert host.killed is None
    look(bench, 1)
    assert "no sign of life" in host.killed


def test_a_task_asked_to_stop_has_stopped_when_its_host_dies(bench):
    host = bench.start(1)
    bench.supervisor.stop(TaskId("c", 0), 1, 5)
    host.listener.ended(host, "was ended by signal SIGSEGV")
    assert bench.changes == [TaskState("c", 0, 1, None)]


def test_too_much_memory_costs_the_host_with_the_figures(bench):
    bench = Bench(memory_bytes=100 * 1024 * 1024)
    host = bench.start(1)
    host.memory = 100 * 1024 * 1024
    bench.pass_s(1)
    assert host.killed is None
    host.memory = 300 * 1024 * 1024
    bench.pass_s(1)
    assert "300 MiB" in host.killed
    assert "task.host.memory.limit=100" in host.killed


def test_too_much_memory_costs_the_call_host_and_is_told_to_who_asked(bench):
    bench = Bench(memory_bytes=100 * 1024 * 1024)
    answer = bench.calls.ask("check", {}, 5)
    for host in (0, 1):
        bench.hosts[host].memory = 300 * 1024 * 1024
        bench.pass_s(1)
        bench.hosts[host].listener.ended(bench.hosts[host], bench.hosts[host].killed)
    assert "it held 300 MiB of memory, more than task.host.memory.limit=100 allows" in answer.result(0).error


def test_words_about_runs_that_ended_are_ignored(bench):
    host = bench.start(1)
    host.listener.said(host, TaskState("c", 0, 1, None))
    host.listener.said(host, TaskState("c", 0, 1, State.RUNNING))
    assert [c.state for c in bench.changes] == [None]


def test_figures_are_those_of_all_hosts(bench):
    for run, name in ((1, "a"), (2, "b")):
        host = bench.start(run, name)
        host.memory = 1000.0 * run
        host.figures = ({f"{name}-0": {"rows_total": run}}, {"host_cpu_s_total": 0.5 * run})
    assert bench.supervisor.figures() == {
        "a-0": {"rows_total": 1, "host_cpu_s_total": 0.5, "host_memory_bytes": 1000.0},
        "b-0": {"rows_total": 2, "host_cpu_s_total": 1.0, "host_memory_bytes": 2000.0},
    }


def test_a_call_that_hangs_is_answered_with_an_error_and_others_are_asked_again(bench):
    hung = bench.calls.ask("check", {"name": "hung"}, 5)
    bench.pass_s(3)
    other = bench.calls.ask("task_configs", {"name": "ok"}, 5)
    host = bench.hosts[0]
    bench.pass_s(3.1)
    assert host.aborted
    host.crash_report = CrashReport({}, "Thread: in check")
    host.listener.ended(host, host.aborted)
    assert "in check" in hung.result(0).trace
    assert hung.result(0).error == "The connector did not answer check within 5 s."
    again = bench.hosts[1]
    (call,) = (m for m in again.heard if isinstance(m, Call))
    again.listener.said(again, CallResult(call.id, [{}]))
    assert other.result(0).value == [{}]


def test_a_call_outlives_any_number_of_others_that_hang_in_its_host(bench):
    other = bench.calls.ask("check", {"name": "ok"}, 60)
    for host in range(5):
        hung = bench.calls.ask("check", {"connector.class": "Slow", "name": f"slow{host}"}, 5)
        bench.pass_s(6.1)
        bench.hosts[host].listener.ended(bench.hosts[host], bench.hosts[host].aborted)
        assert hung.result(0).error == "The connector Slow did not answer check within 5 s."
        assert not other.done()
    last = bench.hosts[-1]
    (call,) = (m for m in last.heard if isinstance(m, Call) and m.config == {"name": "ok"})
    last.listener.said(last, CallResult(call.id, ["fine"]))
    assert other.result(0).value == ["fine"]


def test_a_call_whose_process_dies_twice_is_given_up(bench):
    answer = bench.calls.ask("check", {}, 5)
    for host in (0, 1):
        bench.hosts[host].listener.ended(bench.hosts[host], "was ended by signal SIGSEGV")
    assert "SIGSEGV" in answer.result(0).error
    assert not answer.result(0).unavailable


def test_a_call_whose_process_ends_twice_with_the_lease_says_nothing_of_the_connector(bench):
    answer = bench.calls.ask("check", {}, 5)
    for host in (0, 1):
        bench.hosts[host].listener.ended(bench.hosts[host], LEASE_OVER)
    assert answer.result(0).unavailable


def test_questions_without_an_answer_are_given_up_when_the_worker_ends(bench):
    asked = [bench.calls.ask("check", {}, 60.0) for _ in range(2)]
    bench.calls.give_up()
    said = [future.result(0) for future in asked]
    assert [(one.error, one.unavailable) for one in said] == [("The worker is shutting down", True)] * 2


def test_the_call_host_ends_when_nothing_is_asked(bench):
    answer = bench.calls.ask("check", {}, 5)
    host = bench.hosts[0]
    host.listener.said(host, CallResult(1))
    assert answer.done()
    bench.pass_s(KEEP_CALL_HOST_S - 1)
    assert not host.closed
    bench.pass_s(1)
    assert host.closed


def test_a_task_whose_host_the_machine_refuses_fails_and_starts_in_the_next_one(bench):
    bench.refusals = 1
    bench.supervisor.start(StartTask("c", 0, 1, "source", {}, {}), isolated=False)
    [refused] = bench.changes
    assert (refused.run, refused.state, refused.retriable) == (1, State.FAILED, True)
    assert "no processes" in refused.trace
    assert bench.start(2) is bench.hosts[0]


def test_a_host_to_keep_ready_that_is_refused_is_tried_again_after_a_pause(bench, caplog):
    bench.refusals = 1
    bench.supervisor.pool.keep_ready(True)
    assert "task_host_not_started" in caplog.text
    bench.pass_s(SPARE_PAUSE_S - 1)
    assert bench.hosts == []
    bench.pass_s(2)
    assert len(bench.hosts) == 1


def test_a_question_whose_process_is_refused_is_answered_and_the_next_one_is_asked(bench, caplog):
    bench.refusals = 2
    bench.calls.make_ready()
    assert "call_host_not_started" in caplog.text
    refused = bench.calls.ask("check", {"name": "c"}, 1.0).result(0)
    assert "no processes" in refused.error
    assert refused.retriable
    bench.pass_s(100)
    answer = bench.calls.ask("check", {"name": "c"}, 1.0)
    assert not answer.done()
    assert [m.method for m in bench.hosts[0].heard if isinstance(m, Call)] == ["check"]


def test_a_host_that_was_never_made_makes_no_suspects(bench):
    host = bench.start(1, "a")
    bench.start(2, "b")
    host.listener.ended(host, f"{NOT_MADE}: no processes")
    assert [(change.run, change.state) for change in bench.changes] == [(1, State.FAILED)]
    assert bench.supervisor.pool.hosts[bench.start(3, "a")].isolated_for is None
