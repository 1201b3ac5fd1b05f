"""A deleted connector takes away what it keeps outside: after its tasks, beside the deletion, and again if need be."""

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from captured_logs import capture_logs
from cluster_fakes import eventually

from connect.cluster.herder.cleanup import Cleanup
from connect.lib.deadline import Deadline
from connect.runtime.task.messages import Call, CallResult, StopTask

SOURCE = {"connector.class": "Source", "name": "c", "slot": "s"}
AWAY = "The database is away. Run: DROP SLOT s"


@pytest.fixture
def lines():
    with capture_logs() as found:
        yield found


def run(herder, config=SOURCE, name="c"):
    herder.connectors.create(name, {**config, "name": name}, None).result(60)
    eventually(lambda: herder.connectors.info(name).tasks)


def cleaned(world):
    return [call.config["name"] for call in world.calls if call.method == "clean_up"]


def outcome(lines, name="c"):
    """What was told of one connector's clean-up: the worker of another test may still be telling of its own."""
    wanted = {"cleanup_failed", "connector_left_something", "connector_left_nothing"}
    found = [line for line in lines if line["event"] in wanted and line["connector"] == name]
    return [(line["event"], line.get("reason")) for line in found]


def test_a_deleted_connector_is_cleaned_up_once_its_tasks_have_stopped(world, herder, lines):
    run(herder)
    eventually(world.started)
    world.silent_on.add(StopTask)
    herder.connectors.delete("c").result(60)
    assert (herder.connectors.names(), cleaned(world)) == ([], [])
    world.let_stop()
    eventually(lambda: outcome(lines) == [("connector_left_nothing", None)])
    assert world.calls[-1].config == SOURCE


def test_a_connector_deleted_with_its_offsets_is_cleaned_up_too(world, herder):
    run(herder, name="with-offsets")
    herder.connectors.delete_with_offsets("with-offsets").result(60)
    eventually(lambda: cleaned(world) == ["with-offsets"])


def test_a_plug_in_that_keeps_nothing_outside_is_not_asked(world, herder, lines):
    run(herder, {"connector.class": "Source"}, "keeps-nothing")
    herder.connectors.delete("keeps-nothing").result(60)
    run(herder)
    herder.connectors.delete("c").result(60)
    eventually(lambda: outcome(lines))
    assert cleaned(world) == ["c"]


def test_connectors_that_hang_hold_up_neither_their_deletion_nor_others(world, herder, lines):
    world.clean_up = lambda call: CallResult(call.id) if call.config["name"] == "answers" else None
    for name in ("hangs", "hangs-too", "answers"):
        run(herder, name=name)
        herder.connectors.delete(name).result(60)
    eventually(lambda: outcome(lines, "answers") == [("connector_left_nothing", None)])
    assert all(host.killed is None for host in world.hosts), "those that hang were waited for"
    herder.connectors.create("hangs", {**SOURCE, "name": "hangs"}, None).result(60)
    herder.connectors.delete_with_offsets("hangs").result(60)
    assert herder.connectors.names() == []


def test_a_clean_up_that_hangs_leaves_the_host_of_all_other_questions_alone(world, herder):
    world.clean_up = lambda call: None
    run(herder, name="held-up")
    herder.connectors.delete("held-up").result(60)
    eventually(lambda: cleaned(world))
    asked = {host.name: {m.method for m in host.heard if isinstance(m, Call)} for host in world.hosts}
    assert asked["cleanup-host"] == {"clean_up"}
    assert "clean_up" not in asked["call-host"]


def test_what_stays_on_purpose_is_told(world, herder, lines):
    run(herder)
    world.clean_up = lambda call: CallResult(call.id, "Slot s stays.")
    herder.connectors.delete("c").result(60)
    eventually(lambda: outcome(lines) == [("connector_left_something", "Slot s stays.")])


def test_the_worker_that_ends_tells_what_it_did_not_do(world, lines):
    herder = world.herder()
    world.clean_up = lambda call: None
    names = ("one", "two", "three", "four", "waiting")
    for name in names:
        run(herder, name=name)
        herder.connectors.delete(name).result(60)
    eventually(lambda: len(cleaned(world)) == 4)
    herder.stop(Deadline.after(60))
    for name in names:
        eventually(lambda name=name: [event for event, _ in outcome(lines, name)] == ["cleanup_failed"])


class Retries:
    """A clean-up whose connector gives these answers, and the connectors there are meanwhile."""

    def __init__(self, *answers):
        self.answers, self.asked, self.connectors = list(answers), 0, {}
        self.deadline = Deadline.after(60)
        background = SimpleNamespace(deadline=lambda: self.deadline, await_stopped=lambda name, deadline: True)
        parts = SimpleNamespace(
            catalog=SimpleNamespace(cleans_up=lambda config: True),
            configs=SimpleNamespace(snapshot=SimpleNamespace(connectors=self.connectors)),
        )
        self.cleanup = Cleanup(parts, background, self.ask, pause_s=0.0)

    def ask(self, method, config, timeout_s):
        self.asked += 1
        answer = Future()
        answer.set_result(self.answers.pop(0))
        return answer


def test_a_database_that_comes_back_is_cleaned_up(lines):
    away = CallResult(1, error=AWAY, retriable=True)
    retries = Retries(away, away, CallResult(1))
    retries.cleanup.begin("c", SOURCE)
    eventually(lambda: outcome(lines) == [("connector_left_nothing", None)])
    assert retries.asked == 3


def test_a_database_that_stays_away_is_an_error_with_the_command(lines):
    retries = Retries(CallResult(1, error=AWAY, retriable=True))
    retries.deadline = Deadline.after(0)
    retries.cleanup.begin("c", SOURCE)
    eventually(lambda: outcome(lines) == [("cleanup_failed", AWAY)])


def test_an_error_that_does_not_pass_is_not_tried_again(lines):
    retries = Retries(CallResult(1, error="no right"))
    retries.cleanup.begin("c", SOURCE)
    eventually(lambda: outcome(lines) == [("cleanup_failed", "no right")])
    assert retries.asked == 1


def test_a_connector_made_anew_keeps_what_is_there(lines):
    retries = Retries()
    retries.connectors["c"] = SOURCE
    retries.cleanup.begin("c", SOURCE)
    eventually(lambda: [event for event, _ in outcome(lines)] == ["connector_left_something"])
    assert retries.asked == 0
