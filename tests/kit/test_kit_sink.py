"""Checks that the sink suite passes a correct sink, and catches each broken one by the tests that are named for it.

A check that no other test fails for a fault takes minutes, so it belongs to `make chaos`.
"""

from __future__ import annotations

import pytest
from kit_runs import CHAOS_LIMIT_S, Case, Runs, names_of, start_runs

from connect.testing.sink import SinkSuite

CODE = """
import kit_sink
import kit_sink_records
import pytest
from connect.testing.sink import SinkSuite

class Test{name}(SinkSuite):
    plugin = kit_sink.sink({module}.{name})
    patience_s = 3.0
    examples = 5

    @pytest.fixture
    def driver(self, tmp_path):
        return kit_sink.TableSinkDriver(tmp_path)
"""
ANY_KEY = "test_rows_of_any_key_land_or_are_refused"
ANY_TYPE = "test_any_schema_is_kept_or_refused"
BAD_ROW = "test_one_bad_row_is_rejected_alone"
BAD_ROWS = "test_bad_rows_are_rejected_whatever_the_batches"
CHANGED = "test_a_changed_schema_loses_no_row"
EACH_TYPE = "test_a_type_is_kept_or_refused"
HEALS = "test_a_lost_connection_heals"
LATER = "test_a_later_row_of_a_key_replaces_the_earlier"
ONCE = "test_replayed_rows_land_once"
SCHEMALESS = "test_schemaless_rows_land_or_are_refused"
SCHEMALESS_BAD = "test_schemaless_bad_rows_are_rejected_whatever_the_batches"
TOMBSTONES = "test_tombstones_delete"
TOPICS = "test_rows_of_several_topics_land"

EXACTLY = {
    "CastsIntToFloat": {EACH_TYPE, ANY_TYPE},
    "ChecksNothing": {"test_check_refuses_a_system_that_cannot_be_reached"},
    "ClosesOnce": {"test_close_twice_is_harmless"},
    "DependsOnTheForm": {"test_arrow_and_row_batches_land_alike", SCHEMALESS},
    "DoublesRows": {ONCE, LATER, TOMBSTONES},
    "DropsNone": {"test_every_row_is_readable_after_flush_value_by_value", ANY_KEY, CHANGED, SCHEMALESS, TOPICS},
    "ForgetsEmptyBatches": {"test_batches_without_rows_move_the_offset"},
    "IgnoresTheDeadline": {"test_put_and_flush_return_by_their_deadline"},
    "IgnoresTombstones": {TOMBSTONES},
    "KeepsRevoked": {"test_a_revoke_mid_write_loses_nothing"},
    "KeepsTheFirst": {LATER},
    "LeaksAFileOnAFailedOpen": {"test_a_failed_open_leaves_nothing"},
    "LeaksASecret": {"test_no_secret_in_any_output"},
    "LeaksAThread": {"test_close_leaves_no_thread_and_nothing_open"},
    "LosesABatchOnError": {HEALS},
    "RefusesItsExample": {"test_check_accepts_a_working_configuration"},
    "RejectsTheWholeBatch": {BAD_ROW, BAD_ROWS, SCHEMALESS_BAD},
    "SwallowsABadRow": {ANY_KEY, BAD_ROW, BAD_ROWS, SCHEMALESS_BAD},
}
"""Maps each connector to the tests that must fail; no other test of the suite may, COSTLY ones left out."""
RECORDS = {
    "DropsOtherKeys": {ANY_KEY},
    "DropsSchemaless": {SCHEMALESS, SCHEMALESS_BAD},
    "EmptiesTheTable": {"test_two_tasks_write_to_one_target"},
    "FailsOnTwoBadRows": {ANY_KEY, BAD_ROWS, SCHEMALESS_BAD},
    "KeepsOneTopic": {TOPICS},
    "KeepsTheFirstSchema": {CHANGED},
    "RefusesBytes": {EACH_TYPE},
}
"""Maps the connectors of kit_sink_records in the same way."""
EXACTLY |= RECORDS
CORRECT = "TableSinkConnector"
AT_LEAST = {
    "ClaimsTooMuch": "test_flush_never_claims_more_than_is_durable",
    "GoesBack": "test_an_idle_flush_is_harmless",
}
"""Maps connectors that are so broken that many tests would fail to the test that says why."""
COSTLY = {EACH_TYPE, ANY_TYPE}
"""These tests take many rounds, so they only run for the correct sink and where they must fail."""


def _code(name: str) -> str:
    return CODE.format(name=name, module="kit_sink_records" if name in RECORDS else "kit_sink")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Run all tests of the correct sink, and for each broken one those that must fail."""
    faults = EXACTLY | {name: {test} for name, test in AT_LEAST.items()}
    cases = {CORRECT: Case(_code(CORRECT))}
    cases |= {name: Case(_code(name), only=failing) for name, failing in faults.items()}
    return start_runs(tmp_path_factory.mktemp("sink"), cases)


@pytest.fixture(scope="module")
def other_runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Run for each broken sink the tests that must pass all the same."""
    cases = {name: Case(_code(name), without=COSTLY | failing) for name, failing in EXACTLY.items()}
    return start_runs(tmp_path_factory.mktemp("others"), cases, CHAOS_LIMIT_S)


def test_the_correct_sink_passes_every_test(runs: Runs) -> None:
    assert runs.outcome(CORRECT).passed == names_of(SinkSuite)


@pytest.mark.parametrize("name", EXACTLY)
def test_the_tests_named_for_the_fault_fail(runs: Runs, name: str) -> None:
    outcome = runs.outcome(name)
    assert outcome.failed == EXACTLY[name], outcome.output


@pytest.mark.chaos
@pytest.mark.timeout(CHAOS_LIMIT_S + 60)
@pytest.mark.parametrize("name", EXACTLY)
def test_no_other_test_fails_for_the_fault(other_runs: Runs, name: str) -> None:
    outcome = other_runs.outcome(name)
    assert outcome.failed == set(), outcome.output
    assert outcome.passed == names_of(SinkSuite) - COSTLY - EXACTLY[name], "Tests were not run."


@pytest.mark.parametrize("name", AT_LEAST)
def test_the_test_that_says_why_fails(runs: Runs, name: str) -> None:
    outcome = runs.outcome(name)
    assert outcome.failed == {AT_LEAST[name]}, outcome.output
