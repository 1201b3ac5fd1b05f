"""The sink suite passes a correct sink, and catches each broken one by the test that is named for it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future

import pytest
from kit_runs import Outcome, start_runs

FILE = """
import kit_sink
import pytest
from connect.testing.sink import SinkSuite

class TestIt(SinkSuite):
    plugin = kit_sink.sink(kit_sink.{connector})
    patience_s = 3.0
    examples = 5

    @pytest.fixture
    def driver(self, tmp_path):
        return kit_sink.TableSinkDriver(tmp_path)
"""
BAD_ROW = "test_one_bad_row_is_rejected_alone"
HEALS = "test_a_lost_connection_heals"
LATER = "test_a_later_row_of_a_key_replaces_the_earlier"
ONCE = "test_replayed_rows_land_once"
TOMBSTONES = "test_tombstones_delete"

EXACTLY = {
    "CastsIntToFloat": {"test_a_type_is_kept_or_refused", "test_any_schema_is_kept_or_refused"},
    "ClosesOnce": {"test_close_twice_is_harmless"},
    "DependsOnTheForm": {"test_arrow_and_row_batches_land_alike"},
    "DoublesRows": {ONCE, LATER, TOMBSTONES},
    "DropsNone": {"test_every_row_is_readable_after_flush_value_by_value"},
    "ForgetsEmptyBatches": {"test_batches_without_rows_move_the_offset"},
    "IgnoresTheDeadline": {"test_put_and_flush_return_by_their_deadline"},
    "IgnoresTombstones": {TOMBSTONES},
    "KeepsRevoked": {"test_a_revoke_mid_write_loses_nothing"},
    "KeepsTheFirst": {LATER},
    "LeaksAFileOnAFailedOpen": {"test_a_failed_open_leaves_nothing"},
    "LeaksASecret": {"test_no_secret_in_any_output"},
    "LeaksAThread": {"test_close_leaves_no_thread_and_nothing_open"},
    "LosesABatchOnError": {HEALS},
    "RejectsTheWholeBatch": {BAD_ROW},
    "SwallowsABadRow": {BAD_ROW},
    "TableSinkConnector": set(),
}
"""Connector -> the tests that fail, and no others."""
AT_LEAST = {
    "ClaimsTooMuch": "test_flush_never_claims_more_than_is_durable",
    "GoesBack": "test_an_idle_flush_is_harmless",
}
"""Connector so broken that many tests fail -> the one that says why."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Future[Outcome]]:
    files = {name: FILE.format(connector=name) for name in (*EXACTLY, *AT_LEAST)}
    return start_runs(tmp_path_factory.mktemp("sink"), files)


@pytest.mark.parametrize("name", EXACTLY)
def test_exactly_the_tests_named_for_the_fault_fail(runs: Mapping[str, Future[Outcome]], name: str) -> None:
    outcome = runs[name].result()
    assert outcome.failed == EXACTLY[name], outcome.output


@pytest.mark.parametrize("name", AT_LEAST)
def test_the_test_named_for_the_fault_fails(runs: Mapping[str, Future[Outcome]], name: str) -> None:
    outcome = runs[name].result()
    assert AT_LEAST[name] in outcome.failed, outcome.output
