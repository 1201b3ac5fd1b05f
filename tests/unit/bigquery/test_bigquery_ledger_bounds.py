"""The ledger of a budget stays within a table's description, and what dead processes reserved comes free again."""

from __future__ import annotations

import json

import pytest
from google.api_core import exceptions as api
from google.cloud.bigquery import QueryJobConfig
from test_bigquery_compaction import model_of, runs_of, shown
from test_bigquery_spending import BEGIN_S, DAY_S, LEDGER, MIB, Clock, Life, by_day, clock, kept, patiently, service

from connect.api.errors import ConnectError
from connectors.bigquery.spending import ledger
from connectors.bigquery.spending.budget_sentences import BudgetSpentError
from connectors.bigquery.spending.ledger import Kind, Ledger

pytestmark = [pytest.mark.quick, pytest.mark.timeout(600)]
__all__ = ["clock", "service"]
DESCRIPTION_CHARS = 16_384


def died_with(service, clock: Clock, budget_bytes: int, tables: int, need_bytes: int = 30 * MIB) -> None:
    """A process that reserved bytes for a job of each table, submitted none, and is gone."""
    dead = Life(service, clock, budget_bytes)
    for number in range(tables):
        dead.spending._estimates.keep(f"t{number}", {"MERGE": need_bytes})
        dead.spending.reserve(f"t{number}", "MERGE", Kind.MERGE, job_of(number))


def job_of(number: int) -> str:
    return f"kafka-connect-merge-{number:024x}-{'a' * 8}-{number}"


def test_the_reservations_of_the_dead_never_outgrow_the_description(service, clock, monkeypatch):
    monkeypatch.setattr(ledger, "MOST_CHARS", 1500)
    budget, runs, longest = 10_000_000 * MIB, runs_of(3), 0
    for life in range(20):
        dead = Life(service, clock, budget)
        for number in range(5):
            dead.spending.reserve("t", "MERGE", Kind.MERGE, job_of(5 * life + number))
            longest = max(longest, len(service.tables[LEDGER].resource["description"]))
    assert 1000 < longest < 1600
    living = Life(service, clock, budget)
    patiently(clock, lambda: living.load(runs[0]))
    assert shown(service, "orders") == model_of(runs[:1], {})


def test_so_many_running_jobs_that_the_ledger_is_full_hold_up_a_further_one_and_lose_nothing(service, clock):
    life = Life(service, clock, 10_000_000 * MIB)

    def reserve_many() -> None:
        for number in range(1000):
            life.spending.reserve(f"t{number}", "MERGE", Kind.MERGE, job_of(number))

    with pytest.raises(BudgetSpentError, match=r"waits 30 s, as so many jobs run .* none is lost"):
        reserve_many()
    assert len(kept(service).reserved) > 100, "a task of 64 threads has room"
    assert len(service.tables[LEDGER].resource["description"]) < DESCRIPTION_CHARS


def test_what_the_dead_reserved_is_free_on_the_next_day_and_their_jobs_cannot_run_any_more(service, clock):
    budget, runs = 300 * MIB, runs_of(3)
    died_with(service, clock, budget, tables=9)
    clock.now_s += DAY_S
    living = Life(service, clock, budget)
    waited = patiently(clock, lambda: living.load(runs[0]))
    assert waited < 24, "it does not wait for the reservations to expire"
    assert shown(service, "orders") == model_of(runs[:1], {})
    assert not {job_of(number) for number in range(9)} & kept(service).reserved.keys()
    # A process that was frozen since then wakes up.
    with pytest.raises(api.Conflict):
        living.client.query("SELECT 1 AS late", job_id=job_of(4), job_config=QueryJobConfig())
    assert max(by_day(service).values()) <= budget


def test_a_job_of_a_dead_process_that_ran_is_counted_where_its_bytes_come_free(service, clock):
    budget, runs = 400 * MIB, runs_of(3)
    dead = Life(service, clock, budget)
    dead.spending.reserve("t", "MERGE", Kind.COMPACTION, job_of(1))
    service.submit(job_of(1), {}, lambda job: setattr(job, "billed", 21 * MIB))
    service.jobs[job_of(1)].state = "DONE"
    clock.now_s += DAY_S
    living = Life(service, clock, budget)
    for run in runs:
        patiently(clock, lambda run=run: living.load(run), step_s=600.0)
    living.spending.save()
    assert job_of(1) not in kept(service).reserved
    assert kept(service).month.billed_bytes["compaction"] == 21 * MIB


def test_a_running_job_of_another_process_keeps_its_bytes(service, clock):
    budget = 100 * MIB
    other = Life(service, clock, budget)
    other.spending._estimates.keep("t", {"MERGE": 90 * MIB})
    other.spending.reserve("t", "MERGE", Kind.MERGE, job_of(1))
    service.submit(job_of(1), {}, lambda job: setattr(job, "left", 10**9))
    clock.now_s += DAY_S
    with pytest.raises(BudgetSpentError):
        Life(service, clock, budget).spending.reserve("u", "MERGE", Kind.MERGE, job_of(2))
    assert job_of(1) in kept(service).reserved


def test_what_was_estimated_too_high_comes_down_again(service, clock):
    life = Life(service, clock, 100_000 * MIB)
    clock.now_s += DAY_S - 60
    life.spending._estimates._factors["orders", "MERGE"] = 64
    runs = runs_of(3)
    for run in runs * 3:
        life.load(run)
    assert life.spending._estimates._factors["orders", "MERGE"] == 1
    assert shown(service, "orders") == model_of(runs, {})


def test_a_need_beyond_the_whole_budget_begins_anew_with_the_dry_run_an_hour_later(service, clock):
    """The table may have shrunk: what was doubled for its former size holds up no merge for ever."""
    life, runs = Life(service, clock, 100 * MIB), runs_of(3)
    life.spending._estimates._factors["orders", "MERGE"] = 1024
    with pytest.raises(BudgetSpentError, match="not merged, as one merge needs about"):
        life.load(runs[0])
    clock.now_s += 3601
    patiently(clock, lambda: life.load(runs[0]))
    assert shown(service, "orders") == model_of(runs[:1], {})


def test_where_bigquery_makes_no_dry_run_a_statement_is_taken_to_need_the_whole_table(service, clock, monkeypatch):
    life = Life(service, clock, 100_000 * MIB)

    def refused(_: str) -> int:
        raise ConnectError("dry runs are not allowed")

    life.load(runs_of(3)[0])
    monkeypatch.setattr(life.warehouse, "scanned_bytes", refused)
    service.tables["orders"].resource["numBytes"] = str(500 * MIB)
    assert life.spending._estimates.anew("orders", "MERGE INTO orders") == pytest.approx(1100 * MIB)


def test_a_ledger_that_an_earlier_version_wrote_is_read():
    reserved = {"j": {"bytes": 7, "day": "2024-10-04", "owner": "a", "is_shared": True}}
    found = Ledger.parse(json.dumps({"day": {}, "month": {}, "reserved": reserved})).reserved["j"]
    assert (found.bytes, found.owner, found.is_shared, found.kind) == (7, "a", True, Kind.MERGE)
    assert Ledger.parse(Ledger(reserved={"j": found}).text()).reserved == {"j": found}
    assert BEGIN_S % DAY_S == 0


def test_the_budget_is_told_to_be_nearly_used_before_it_is_and_what_was_billed_is_told_in_money(service, clock, caplog):
    life, runs = Life(service, clock, 1000 * MIB), runs_of(3)
    life.spending._usd_per_tib = 6.25
    clock.now_s += DAY_S - 60  # nothing waits for the hour
    notices = []
    for run in runs * 20:
        try:
            life.load(run)
        except BudgetSpentError:
            break
        notices.append(life.spending.notice())
    first = next(number for number, notice in enumerate(notices) if notice is not None)
    assert 0 < first < len(notices), "it is told after some merges, and others come after it"
    assert "% of the 0.98 GiB that merges may be billed for today" in notices[first]
    (alert,) = (record for record in caplog.records if record.levelname == "WARNING")
    assert "% of the day's budget of 1048576000 bytes (bigquery.budget.bytes.per.day) are used" in alert.getMessage()
    billed = sum(by_day(service).values())
    assert 0 < billed <= 1000 * MIB
    figures = life.spending.figures()
    assert figures["billed_day_usd"] == figures["billed_month_usd"] == pytest.approx(billed / 2**40 * 6.25)
    assert "billed_day_usd" not in Life(service, clock, None).spending.figures()
