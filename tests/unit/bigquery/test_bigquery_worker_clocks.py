"""The day of a budget goes by BigQuery's clock: a worker whose own is wrong neither ends it nor begins it anew."""

from __future__ import annotations

from dataclasses import replace
from email.utils import formatdate

import pytest
from test_bigquery_compaction import model_of, runs_of, shown
from test_bigquery_spending import BEGIN_S, DAY_S, LEDGER, MIB, Clock, Life, by_day, clock, kept, patiently, service

from connectors.bigquery.spending.ledger import Kind, Ledger, Need, Period
from connectors.bigquery.warehouse.service_clock import ServiceClock

pytestmark = [pytest.mark.quick, pytest.mark.timeout(300)]
__all__ = ["clock", "service"]
YEARS_S = 5 * 365 * DAY_S
BUDGET = 400 * MIB


class Off:
    """The clock of a worker that is wrong by so many seconds."""

    def __init__(self, clock: Clock, by_s: float) -> None:
        self._clock, self._by_s = clock, by_s

    def __call__(self) -> float:
        return self._clock() + self._by_s


def life_with(service, clock: Clock, by_s: float, budget_bytes: int | None = BUDGET, *, hears: bool = True) -> Life:
    """A process whose clock is off, and which hears from BigQuery's answers what the time is."""
    made = Life(service, Off(clock, by_s), budget_bytes)  # type: ignore[arg-type]  # it is a clock
    made.warehouse.clock = ServiceClock(clock)
    if hears:
        made.warehouse.clock.hear(formatdate(clock(), usegmt=True))
    return made


@pytest.mark.parametrize("by_s", [YEARS_S, -YEARS_S, 20 * DAY_S, DAY_S], ids=["+5y", "-5y", "+20d", "+1d"])
def test_workers_whose_clocks_differ_spend_one_budget_a_day_and_none_waits_for_years(service, clock, by_s):
    runs = runs_of(3)
    lives = [life_with(service, clock, 0.0), life_with(service, clock, by_s)]
    for number, run in enumerate(runs * 2):
        patiently(clock, lambda life=lives[number % 2], run=run: life.load(run))
    assert clock.now_s - BEGIN_S < 20 * DAY_S
    assert len(by_day(service)) > 1
    assert max(by_day(service).values()) <= BUDGET
    assert shown(service, "orders") == model_of(runs, {})
    assert "clock" not in str(lives[0].spending.told())
    hours = f"{abs(by_s) / 3600:,.0f} hours {'ahead of' if by_s > 0 else 'behind'} BigQuery's"
    assert f"This worker's clock is {hours}" in str(lives[1].spending.told())


@pytest.mark.parametrize("ahead_s", [YEARS_S, 3 * DAY_S])
def test_a_ledger_that_a_wrong_clock_moved_ahead_comes_back_by_itself(service, clock, ahead_s, caplog):
    """An earlier version took the days of workers' clocks."""
    runs = runs_of(3)
    former = life_with(service, clock, ahead_s, hears=False)
    former.load(runs[0])
    former.spending.reserve("other", "MERGE", Kind.MERGE, "kafka-connect-merge-dead")
    ahead = kept(service)
    now = life_with(service, clock, 0.0)
    now.spending.save()
    patiently(clock, lambda: now.load(runs[1]))
    assert clock.now_s - BEGIN_S < 2 * DAY_S, "and not for years"
    assert max(by_day(service).values()) <= BUDGET, "what was counted on the wrong day counts on this one"
    assert kept(service).day.name < ahead.day.name
    assert kept(service).month.name < ahead.day.name
    (told,) = (record.getMessage() for record in caplog.records if "ahead" in record.getMessage())
    assert LEDGER in told
    assert ahead.day.name in told
    assert told in now.spending.told()
    clock.now_s += DAY_S
    for run in runs * 2:
        patiently(clock, lambda run=run: now.load(run))
    assert "kafka-connect-merge-dead" not in kept(service).reserved, "it is settled, and not kept until that day"


def test_a_ledger_goes_back_for_bigquerys_clock_alone(service, clock):
    """A worker whose clock is behind would else begin each day anew."""
    life_with(service, clock, 0.0).load(runs_of(3)[0])
    day = kept(service).day.name
    behind = life_with(service, clock, -YEARS_S, hears=False)
    behind.spending.save()
    behind.spending._write(lambda ledger: ledger)
    assert kept(service).day.name == day


def test_what_is_counted_beyond_a_day_is_that_days():
    job = Need(7, "a")
    found = Ledger().at("2031-01-05").with_jobs(Kind.MERGE, 60, 2).with_reserved("j", job, 100, 0.5)
    assert isinstance(found, Ledger)
    assert not found.is_beyond("2031-01-04"), "workers' last seconds of a day may differ"
    assert found.is_beyond("2031-01-03")
    back = found.brought_back("2026-11-30")
    assert back == Ledger(
        Period("2026-11-30", {"merge": 60}, {"merge": 2}), Period("2026-11", {"merge": 60}, {"merge": 2}),
        {"j": replace(found.reserved["j"], day="2026-11-30")},
    )  # fmt: skip
    assert back.used_bytes == found.used_bytes
    assert back.at("2026-12-01").used_bytes == 7


def test_counts_are_saved_each_minute_whichever_clock_was_right_first(service, clock):
    life = life_with(service, clock, YEARS_S, None, hears=False)
    life.load(runs_of(3)[0])
    life.warehouse.clock.hear(formatdate(clock(), usegmt=True))
    assert life.spending.is_due


def test_a_date_that_is_none_leaves_the_clock_as_it_was():
    since = iter(range(100, 200))
    heard = ServiceClock(lambda: next(since))
    for date in (None, "", "soon", "Thu, 32 Nov 2026 99:00:00 GMT"):
        heard.hear(date)
        assert not heard.is_heard
        assert heard.now_s(5.0) == 5.0
    heard.hear("Thu, 01 Jan 1970 01:00:00 GMT")
    assert heard.now_s(5.0) == 3601.0
