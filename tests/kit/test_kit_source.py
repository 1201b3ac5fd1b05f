"""Checks that the source suite passes a correct source, and catches each broken one by the tests that are named for it.

A check that no other test fails for a fault takes minutes, so it belongs to `make chaos`.
"""

from __future__ import annotations

import pytest
from kit_runs import CHAOS_LIMIT_S, Case, Runs, names_of, start_runs

from connect.testing.source import SourceSuite

CODE = """
import kit_source
import kit_source_tables
import kit_table
import pytest
from connect.testing.source import SourceSuite

class Test{name}(SourceSuite):
    plugin = kit_table.source({module}.{connector}, kit_source.{config})
    patience_s = 3.0
    quiet_s = 0.05

    @pytest.fixture
    def driver(self, tmp_path):
        return kit_table.TableDriver(tmp_path)
"""
ACCEPTS = "test_check_accepts_a_working_configuration"
CHANGED = "test_a_changed_schema_loses_no_row"
CLEANUP = "test_a_deleted_connector_leaves_nothing_behind"
CRASH = "test_a_crash_at_any_step_loses_no_row"
CLEAN = "test_a_clean_restart_repeats_no_row"
KILL = "test_a_kill_while_reading_loses_no_row"
IDLE = "test_an_idle_poll_uses_no_processor"
LEFT = "test_close_leaves_no_thread_and_nothing_open"
REPEATS = "test_resuming_repeats_no_row"
RESUMES = "test_resumes_at_the_stored_offset"
SECRET = "test_no_secret_in_any_output"
SPLIT = "test_rows_that_are_split_anew_come_once"
TIE = "test_rows_sharing_a_tie_across_a_batch_edge_are_all_read"
TOPICS = "test_rows_of_several_topics_are_read"
UNREADABLE = "test_unreadable_rows_are_rejected_and_passed"
VALUES = "test_every_row_is_read_value_by_value"

EXACTLY = {
    "AcksEarly": {CRASH, UNREADABLE},
    "CastsIntToFloat": {VALUES, CHANGED},
    "ChecksNothing": {"test_check_refuses_a_system_that_cannot_be_reached"},
    "CleansUpInSilence": {"test_a_cleanup_says_when_the_system_cannot_be_reached"},
    "CleansUpOnce": {CLEANUP},
    "ClosesOnce": {"test_close_twice_is_harmless"},
    "CopiesTheRows": {"test_tasks_share_the_rows", TOPICS, SPLIT},
    "DiesOfALostConnection": {"test_a_lost_connection_heals"},
    "DropsNone": {VALUES, CHANGED},
    "DropsUnreadableRows": {UNREADABLE},
    "ForgetsTheOffset": {RESUMES, TIE, REPEATS, CLEAN, UNREADABLE, TOPICS, SPLIT},
    "IgnoresStop": {"test_stop_ends_a_poll_early"},
    "IgnoresTheDeadline": {"test_poll_returns_by_its_deadline"},
    "KeepsOnlyTheTie": {TIE},
    "LeaksAFile": {LEFT},
    "LeaksASecret": {SECRET, ACCEPTS},
    "LeaksAThread": {LEFT},
    "LogsASecret": {SECRET},
    "LeavesItsReader": {CLEANUP},
    "LosesARowAtTheEdge": {CRASH, TIE, RESUMES, CLEAN, UNREADABLE, TOPICS, SPLIT},
    "Prefetches": {CRASH, KILL, TIE, CLEAN, UNREADABLE, SPLIT},
    "RefusesItsExample": {ACCEPTS},
    "RepeatsAfterARestart": {REPEATS, CLEAN, UNREADABLE, TOPICS, SPLIT},
    "Reverses": {"test_order_is_kept_within_a_partition"},
    "Spins": {IDLE},
    "SplitsWithoutAsking": {SPLIT},
    "StaysAtUnreadableRows": {UNREADABLE},
    "SwallowsDeletes": {"test_deletes_become_tombstones"},
}
"""Maps each connector to the tests that must fail; no other test of the suite may, COSTLY ones left out."""
TABLES = {
    "LosesOtherTopics": {TOPICS},
    "MixesTopics": {TOPICS},
    "SkipsRowsAtAChange": {CHANGED},
}
"""Maps the connectors of kit_source_tables in the same way."""
EXACTLY |= TABLES
CORRECT = "TableConnector"
AT_LEAST = {
    "BadOffsets": "test_offsets_are_json_primitives_and_survive_the_store",
    "PlansTooMany": "test_tasks_are_at_most_as_many_as_asked_for",
}
"""Maps connectors that are so broken that many tests would fail to the test that says why."""
CONFIGS = {
    "BadDefaultConfig": "test_defaults_validate",
    "OddKeysConfig": "test_key_names_are_lower_case_and_dotted",
    "UndocumentedConfig": "test_definitions_are_complete",
}
"""Maps each broken configuration of an otherwise correct source to the only test that fails."""
SECRETS = {"LogsASecret": "SecretlessConfig", "LeaksAUrl": "UrlConfig"}
"""Maps a connector to a configuration without a password, whose secrets it shows."""
COSTLY = {IDLE, KILL}
"""These tests wait for seconds or start a process, so they only run for the correct source and where they must fail."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Run all tests of the correct source, and for each broken one those that must fail."""
    faults = EXACTLY | {name: {test} for name, test in AT_LEAST.items()}
    cases = {CORRECT: Case(_code(CORRECT))}
    cases |= {name: Case(_code(name), only=failing) for name, failing in faults.items()}
    cases |= {name: Case(_code(name, CORRECT, name), only={test}) for name, test in CONFIGS.items()}
    cases |= {name: Case(_code(name, connector, name), only={SECRET}) for connector, name in SECRETS.items()}
    return start_runs(tmp_path_factory.mktemp("source"), cases)


@pytest.fixture(scope="module")
def other_runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Run for each broken source the tests that must pass all the same."""
    cases = {name: Case(_code(name), without=COSTLY | failing) for name, failing in EXACTLY.items()}
    cases |= {name: Case(_code(name, CORRECT, name), without=COSTLY | {test}) for name, test in CONFIGS.items()}
    return start_runs(tmp_path_factory.mktemp("others"), cases, CHAOS_LIMIT_S)


def _code(name: str, connector: str = "", config: str = "TableConfig") -> str:
    module = "kit_source_tables" if name in TABLES else "kit_source"
    return CODE.format(name=name, module=module, connector=connector or name, config=config)


def test_the_correct_source_passes_every_test(runs: Runs) -> None:
    assert runs.outcome(CORRECT).passed == names_of(SourceSuite)


@pytest.mark.parametrize("name", EXACTLY)
def test_the_tests_named_for_the_fault_fail(runs: Runs, name: str) -> None:
    outcome = runs.outcome(name)
    assert outcome.failed == EXACTLY[name], outcome.output


@pytest.mark.chaos
@pytest.mark.timeout(CHAOS_LIMIT_S + 60)
@pytest.mark.parametrize("name", [*EXACTLY, *CONFIGS])
def test_no_other_test_fails_for_the_fault(other_runs: Runs, name: str) -> None:
    outcome = other_runs.outcome(name)
    named = EXACTLY.get(name) or {CONFIGS[name]}
    assert outcome.failed == set(), outcome.output
    assert outcome.passed == names_of(SourceSuite) - COSTLY - named, "Tests were not run."


@pytest.mark.parametrize("name", AT_LEAST)
def test_the_test_that_says_why_fails(runs: Runs, name: str) -> None:
    outcome = runs.outcome(name)
    assert outcome.failed == {AT_LEAST[name]}, outcome.output


@pytest.mark.parametrize("name", CONFIGS)
def test_a_bad_declaration_fails_its_own_test(runs: Runs, name: str) -> None:
    outcome = runs.outcome(name)
    assert outcome.failed == {CONFIGS[name]}, outcome.output


@pytest.mark.parametrize("config", SECRETS.values())
def test_a_secret_is_looked_for_where_no_password_is_declared(runs: Runs, config: str) -> None:
    outcome = runs.outcome(config)
    assert outcome.failed == {SECRET}, outcome.output


def test_a_late_method_is_named(runs: Runs) -> None:
    output = runs.outcome("IgnoresTheDeadline").output
    assert "poll with a deadline of 0 s did not return within 1 s. Give the deadline to every wait" in output


def test_a_leaked_secret_is_not_repeated_by_the_suite(runs: Runs) -> None:
    output = runs.outcome("LeaksASecret").output
    assert "is shown in the error of check" in output
    assert "c4n4ry" not in output.replace('CANARY = "c4n4ry', "")
