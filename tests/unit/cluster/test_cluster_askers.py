"""Asks questions that take long, or that cost a process: others wait behind those of one asker once, and no more."""

import itertools
from concurrent.futures import Future
from unittest.mock import Mock

import pytest
from host_bench import Bench

from connect.cluster.herder.dry_run import DryRun
from connect.cluster.hosts.host_watch import MIB, MemoryLimit
from connect.cluster.hosts.lease import LEASE_OVER
from connect.cluster.hosts.suspects import PROBATION_S
from connect.cluster.loop.call_host import memory_limit
from connect.cluster.loop.connector_calls import APART_MAX, SLOW_S
from connect.cluster.model.connector_values import TaskPlan
from connect.cluster.model.request_errors import BadRequestError
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.messages import Call, CallResult

TIMEOUT_S = 5.0
SHARED = "call-host"
NUMBERS = itertools.count(1)


@pytest.fixture
def bench():
    return Bench()


def ask(bench, asker, name="c", timeout_s=TIMEOUT_S):
    return bench.calls.ask("check", {"name": name}, timeout_s, asker=asker)


def host_of(bench, name):
    """The host that was asked last about a connector."""
    asked = [host for host in bench.hosts for m in host.heard if isinstance(m, Call) and m.config["name"] == name]
    return asked[-1]


def hang(bench, asker):
    """Let a question of an asker hang until it has cost its host; the name of that host."""
    name = f"hung {next(NUMBERS)}"
    ask(bench, asker, name)
    bench.pass_s(TIMEOUT_S + 1)
    host = host_of(bench, name)
    assert host.aborted, f"{host.name} goes on"
    host.listener.ended(host, host.aborted)
    return host.name


def answer(host):
    (call,) = [message for message in host.heard if isinstance(message, Call)][-1:]
    host.listener.said(host, CallResult(call.id, ["fine"]))


def test_only_the_first_question_that_hangs_costs_the_host_of_others(bench):
    cost = [hang(bench, "mallory") for _ in range(4)]
    assert cost == [SHARED] + [f"{SHARED}-apart-1"] * 3


def test_further_questions_of_the_same_asker_go_along_and_those_of_others_do_not(bench):
    ask(bench, "mallory", "first")
    bench.pass_s(3)
    ask(bench, "mallory", "second")
    theirs = ask(bench, "ada", "theirs")
    bench.pass_s(3.1)
    host_of(bench, "first").listener.ended(host_of(bench, "first"), "was killed")
    assert host_of(bench, "second").name == f"{SHARED}-apart-1"
    assert host_of(bench, "theirs").name == SHARED
    answer(host_of(bench, "theirs"))
    assert theirs.result(0).value == ["fine"]


def test_whoever_asks_what_takes_long_asks_apart_although_it_ends(bench):
    slow = ask(bench, "mallory", "slow", timeout_s=60)
    bench.pass_s(SLOW_S)
    answer(host_of(bench, "slow"))
    assert slow.result(0).value == ["fine"]
    ask(bench, "mallory", "again")
    ask(bench, "ada", "theirs")
    assert host_of(bench, "again").name == f"{SHARED}-apart-1"
    assert host_of(bench, "theirs").name == SHARED


def test_nobody_waits_for_the_time_that_the_question_of_another_one_takes(bench):
    slow = ask(bench, "mallory", "slow", timeout_s=60)
    bench.pass_s(SLOW_S / 2)
    theirs = ask(bench, "ada", "theirs", timeout_s=60)
    planned = bench.calls.ask("alter_offsets", {"name": "altered"}, 60, asker="ada")
    busy = host_of(bench, "slow")
    assert (host_of(bench, "theirs"), host_of(bench, "altered")) == (busy, busy)
    bench.pass_s(SLOW_S / 2)
    free = host_of(bench, "theirs")
    assert (free.name, free is busy, busy.aborted) == (SHARED, False, None)
    assert host_of(bench, "altered") is busy, "what changes something is asked once"
    answer(free)
    assert theirs.result(0).value == ["fine"]
    ask(bench, "eve", "later")
    assert host_of(bench, "later") is free
    for message in [m for m in busy.heard if isinstance(m, Call)]:
        busy.listener.said(busy, CallResult(message.id, ["late"]))
    assert (slow.result(0).value, planned.result(0).value) == (["late"], ["late"])
    assert theirs.result(0).value == ["fine"]
    bench.pass_s(1)
    assert (busy.closed, free.closed) == (True, False)


def test_suspects_have_hosts_of_their_own_as_long_as_there_are_few(bench):
    for number in range(APART_MAX):
        hang(bench, f"asker {number}")
    for number in range(APART_MAX):
        ask(bench, f"asker {number}", f"c{number}")
    apart = [host_of(bench, f"c{number}").name for number in range(APART_MAX)]
    assert apart == [f"{SHARED}-apart-{number}" for number in range(1, APART_MAX + 1)]
    assert hang(bench, "one more") == SHARED
    assert hang(bench, "one more") in apart
    assert len({host.name for host in bench.hosts}) == 1 + APART_MAX


def test_a_suspect_asks_with_everybody_again_after_a_while(bench):
    hang(bench, "mallory")
    bench.pass_s(PROBATION_S)
    ask(bench, "mallory", "later")
    assert host_of(bench, "later").name == SHARED


def test_a_connector_that_the_worker_itself_asks_is_kept_apart_alone(bench):
    for expected in (SHARED, f"{SHARED}-apart-1"):
        bench.calls.ask("task_configs", {"name": "bad"}, TIMEOUT_S)
        bench.pass_s(TIMEOUT_S + 1)
        assert host_of(bench, "bad").name == expected
        host_of(bench, "bad").listener.ended(host_of(bench, "bad"), "was killed")
    bench.calls.ask("task_configs", {"name": "good"}, TIMEOUT_S)
    assert host_of(bench, "good").name == SHARED


def test_those_who_asked_what_a_host_died_beside_ask_again_apart(bench):
    ask(bench, "mallory", "deadly")
    theirs = ask(bench, "ada", "theirs")
    bench.hosts[0].listener.ended(bench.hosts[0], "was ended by signal SIGSEGV")
    deadly = host_of(bench, "deadly")
    deadly.listener.ended(deadly, "was ended by signal SIGSEGV")
    answer(host_of(bench, "theirs"))
    assert theirs.result(0).value == ["fine"]


def test_the_end_of_a_lease_makes_nobody_a_suspect(bench):
    ask(bench, "ada", "theirs")
    bench.hosts[0].listener.ended(bench.hosts[0], LEASE_OVER)
    assert host_of(bench, "theirs").name == SHARED


def test_dry_runs_that_plan_for_ever_keep_no_other_one_waiting():
    stuck, planned = Future(), Future()
    planned.set_result(CallResult(1, [{"topic": "t"}]))
    group = Mock(return_value=Mock(topics=lambda deadline: {"t": 1}))
    dry_run = DryRun(lambda config, timeout_s, asker: stuck if asker == "mallory" else planned, group)
    waiting = [dry_run.plan("c", {}, 60.0, "mallory") for _ in range(8)]
    assert dry_run.plan("c", {}, 60.0, "ada").result(30) == TaskPlan([{"topic": "t"}], [])
    stuck.set_result(CallResult(1, error="It did not answer."))
    for one in waiting:
        with pytest.raises(BadRequestError):
            one.result(30)
    dry_run.close()


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, (1024, "check.host.memory.limit")),
        ({"task.host.memory.limit": "512"}, (512, "task.host.memory.limit")),
        ({"task.host.memory.limit": "4096"}, (1024, "check.host.memory.limit")),
        ({"check.host.memory.limit": "0", "task.host.memory.limit": "4096"}, (4096, "task.host.memory.limit")),
        ({"check.host.memory.limit": "0"}, (0, "check.host.memory.limit")),
    ],
)
def test_checks_have_a_bound_of_memory_of_their_own(keys, expected):
    topics = {f"{kind}.storage.topic": kind for kind in ("config", "offset", "status")}
    converters = dict.fromkeys(("key.converter", "value.converter"), "JsonConverter")
    worker = WorkerConfig.parse({"bootstrap.servers": "k:9092", "group.id": "g", **topics, **converters, **keys})
    assert memory_limit(worker) == MemoryLimit(expected[0] * MIB, expected[1])
