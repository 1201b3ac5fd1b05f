"""Checks what is asked of a connector itself: with what it is told before, and where its package lacks something."""

import pytest

from connect.api.errors import ConfigError, ConnectError
from connect.api.records import SourcePosition
from connect.runtime.calls.connector_answers import answer_connector_call
from connect.runtime.task.messages import Call


def nothing_stored(deadline):
    return []


def no_rates(topics, deadline):
    return {}


class LoadsLate:
    """Imports its driver when it is asked."""

    def __init__(self, module):
        self.module = module

    def check(self, deadline):
        raise ModuleNotFoundError(f"No module named {self.module!r}", name=self.module)


@pytest.mark.parametrize(
    ("module", "fix"),
    [
        ("obstore", "Run: pip install 'connect-for-kafka[s3]'"),
        ("google.cloud.bigquery", "Run: pip install 'connect-for-kafka[bigquery]'"),
        ("quite_unknown", "Install what the connector's package needs."),
    ],
)
def test_a_missing_package_is_named_with_what_to_run(module, fix):
    call = Call(1, "check", {}, timeout_s=1)
    with pytest.raises(ConnectError, match=f"needs a package that is missing: No module named '{module}'") as raised:
        answer_connector_call(LoadsLate(module), call, {}, nothing_stored, no_rates)
    assert raised.value.fix == fix


class Resumes:
    """One task for each place that is stored, and something outside that it takes away."""

    stored = ()
    left = None

    def resume(self, stored):
        self.stored = stored

    def task_configs(self, max_tasks):
        return [dict(position.partition) for position in self.stored]

    def clean_up(self, deadline):
        assert not deadline.expired
        return self.left


def test_a_connector_that_resumes_is_told_what_is_stored_before_it_plans():
    call = Call(1, "task_configs", {}, timeout_s=1)
    stored = [SourcePosition({"file": "a"}, {"line": 1}), SourcePosition({"file": "b"}, {"line": 2})]
    planned = answer_connector_call(Resumes(), call, {"tasks.max": "2"}, lambda deadline: stored, no_rates)
    assert planned == [{"file": "a"}, {"file": "b"}]


class PlansAllThatItMay:
    """A task for each that it may have."""

    def task_configs(self, max_tasks):
        assert max_tasks < 1_000_000, "so many plans would fill the host's memory"
        return [{}] * max_tasks


def test_a_plan_of_a_thousand_million_tasks_is_refused_before_it_fills_the_memory():
    call = Call(1, "task_configs", {}, timeout_s=1)
    with pytest.raises(ConfigError, match=r"more than 100000 tasks.* Lower tasks\.max"):
        answer_connector_call(PlansAllThatItMay(), call, {"tasks.max": "1000000000"}, nothing_stored, no_rates)


def test_a_connector_that_cleans_up_tells_what_stays():
    call, connector = Call(1, "clean_up", {}, timeout_s=1), Resumes()
    assert answer_connector_call(connector, call, {}, nothing_stored, no_rates) is None
    connector.left = "Slot s stays."
    assert answer_connector_call(connector, call, {}, nothing_stored, no_rates) == "Slot s stays."


def test_a_connector_that_keeps_nothing_outside_has_nothing_to_clean_up():
    assert (
        answer_connector_call(LoadsLate("x"), Call(1, "clean_up", {}, timeout_s=1), {}, nothing_stored, no_rates)
        is None
    )
