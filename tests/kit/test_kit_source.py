"""The source suite passes a correct source, and catches each broken one by the test that is named for it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

import pytest
from kit_runs import Outcome, start_runs

FILE = """
import kit_source
import pytest
from connect.testing.source import SourceSuite

class TestIt(SourceSuite):
    plugin = kit_source.source(kit_source.{connector}, kit_source.{config})
    patience_s = 3.0

    @pytest.fixture
    def driver(self, tmp_path):
        return kit_source.TableDriver(tmp_path)
"""
CRASH = "test_a_crash_at_any_step_loses_no_row"
CLEAN = "test_a_clean_restart_repeats_no_row"
KILL = "test_a_kill_while_reading_loses_no_row"
LEFT = "test_close_leaves_no_thread_and_nothing_open"
REPEATS = "test_resuming_repeats_no_row"
RESUMES = "test_resumes_at_the_stored_offset"
SECRET = "test_no_secret_in_any_output"
TIE = "test_rows_sharing_a_tie_across_a_batch_edge_are_all_read"
VALUES = "test_every_row_is_read_value_by_value"

EXACTLY = {
    "AcksEarly": {CRASH},
    "CastsIntToFloat": {VALUES},
    "ClosesOnce": {"test_close_twice_is_harmless"},
    "CopiesTheRows": {"test_tasks_share_the_rows"},
    "DiesOfALostConnection": {"test_a_lost_connection_heals"},
    "DropsNone": {VALUES},
    "ForgetsTheOffset": {RESUMES, TIE, REPEATS, CLEAN},
    "IgnoresStop": {"test_stop_ends_a_poll_early"},
    "IgnoresTheDeadline": {"test_poll_returns_by_its_deadline"},
    "KeepsOnlyTheTie": {TIE},
    "LeaksAFile": {LEFT},
    "LeaksASecret": {SECRET},
    "LeaksAThread": {LEFT},
    "LogsASecret": {SECRET},
    "LosesARowAtTheEdge": {CRASH, TIE, RESUMES, CLEAN},
    "Prefetches": {CRASH, KILL, TIE, CLEAN},
    "RepeatsAfterARestart": {REPEATS, CLEAN},
    "Reverses": {"test_order_is_kept_within_a_partition"},
    "Spins": {"test_an_idle_poll_uses_no_processor"},
    "SwallowsDeletes": {"test_deletes_become_tombstones"},
    "TableConnector": set(),
}
"""Connector -> the tests that fail, and no others."""
AT_LEAST = {
    "BadOffsets": "test_offsets_are_json_primitives_and_survive_the_store",
    "PlansTooMany": "test_tasks_are_at_most_as_many_as_asked_for",
}
"""Connector so broken that many tests fail -> the one that says why."""
CONFIGS = {
    "BadDefaultConfig": "test_defaults_validate",
    "OddKeysConfig": "test_key_names_are_lower_case_and_dotted",
    "UndocumentedConfig": "test_definitions_are_complete",
}
"""Configuration of an otherwise correct source -> the only test that fails."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Future[Outcome]]:
    files = {name: FILE.format(connector=name, config="TableConfig") for name in (*EXACTLY, *AT_LEAST)}
    files |= {name: FILE.format(connector="TableConnector", config=name) for name in CONFIGS}
    return start_runs(tmp_path_factory.mktemp("source"), files)


@pytest.mark.parametrize("name", EXACTLY)
def test_exactly_the_tests_named_for_the_fault_fail(runs: Mapping[str, Future[Outcome]], name: str) -> None:
    outcome = runs[name].result()
    assert outcome.failed == EXACTLY[name], outcome.output


@pytest.mark.parametrize("name", AT_LEAST)
def test_the_test_named_for_the_fault_fails(runs: Mapping[str, Future[Outcome]], name: str) -> None:
    outcome = runs[name].result()
    assert AT_LEAST[name] in outcome.failed, outcome.output


@pytest.mark.parametrize("name", CONFIGS)
def test_a_bad_declaration_fails_its_own_test(runs: Mapping[str, Future[Outcome]], name: str) -> None:
    outcome = runs[name].result()
    assert outcome.failed == {CONFIGS[name]}, outcome.output


def test_a_late_method_is_named(runs: Mapping[str, Future[Outcome]]) -> None:
    output = runs["IgnoresTheDeadline"].result().output
    assert "poll with a deadline of 0 s did not return within 1 s. Give the deadline to every wait" in output


def test_a_leaked_secret_is_not_repeated_by_the_suite(runs: Mapping[str, Future[Outcome]]) -> None:
    assert "c4n4ry" not in runs["LeaksASecret"].result().output.replace('CANARY = "c4n4ry', "")
