"""Checks ledgers and prices of a budget, without a service: what they allow in a day, and what their files may hold."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect.api.errors import ConfigError
from connectors.bigquery.cost.prices import Prices, prices_in
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.spending.budget_keys import budget_key_of, budget_of, prices_of_config
from connectors.bigquery.spending.ledger import Job, Kind, Ledger, Need, Wait


@st.composite
def doings(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    step = st.tuples(st.sampled_from(["reserve", "end", "find", "die", "day"]), st.integers(0, 4), st.integers(1, 60))
    return draw(st.lists(step, max_size=40))


@settings(max_examples=300, deadline=None)
@given(doings())
def test_a_ledger_bounds_every_day_whoever_gets_an_id(steps):
    """Jobs of five ids in turn by two processes: what a job is billed for is at most what its process reserved."""
    budget, day, ledger = 100, 1, Ledger().at("2026-11-01")
    allowed: dict[tuple[str, str], int] = {}
    billed: Counter[int] = Counter()
    ran: dict[str, tuple[str, int]] = {}
    counted: Counter[str] = Counter()
    for doing, number, amount in steps:
        job_id, owner = f"j{number}", "ab"[amount % 2]
        match doing:
            case "reserve" if job_id not in ran:
                found = ledger.with_reserved(job_id, Need(amount, owner), budget, 0.5)
                if not isinstance(found, Wait):
                    ledger, allowed[job_id, owner] = found, amount
            case "end" if job_id not in ran and (job_id, owner) in allowed:
                ran[job_id] = owner, allowed[job_id, owner]
                billed[day] += ran[job_id][1]
            case "find" if job_id in ran:
                by, size = ran[job_id]
                before = ledger
                ledger = ledger.with_job(Job(job_id, Kind.MERGE, size, True, "" if by == owner else owner))
                counted[job_id] += before is not ledger and before.day.jobs != ledger.day.jobs
            case "day":
                day += 1
                ledger = ledger.at(f"2026-11-{day:02}")
                assert ledger.used_bytes <= budget
        assert billed[day] <= budget
        assert billed[day] <= ledger.used_bytes or any(job not in counted for job in ran)
    assert all(count <= 1 for count in counted.values())


def test_what_is_reserved_counts_each_day_until_its_job_is_seen():
    """A frozen process may submit its job days later."""
    found = Ledger().at("2026-11-01").with_reserved("j", Need(60, "a"), 100, 0.5)
    assert isinstance(found, Ledger)
    later = found.at("2026-11-05")
    assert later.used_bytes == 60
    assert isinstance(later.with_reserved("k", Need(50, "b"), 100, 0.5), Wait)
    seen = later.with_job(Job("j", Kind.MERGE, 45, was_reserved=True))
    assert isinstance(seen.with_reserved("k", Need(50, "b"), 100, 0.5), Ledger)
    assert found.at("2026-12-31").used_bytes == 0, "its table may be gone"


def test_money_buys_bytes_by_the_prices_of_a_file(tmp_path):
    def parsed(**others: str) -> BigQuerySinkConfig:
        given = {"project": "p", "defaultDataset": "d", "dedup.fields": "id", "allowed.paths": str(tmp_path)}
        return BigQuerySinkConfig.parse({**given, **others})

    prices = tmp_path / "prices.yaml"
    prices.write_text("query_tib: 5\n")
    config = parsed(**{"bigquery.budget.usd.per.day": "10", "bigquery.prices.file": str(prices)})
    assert budget_of(config, prices_of_config(config)) == 2 << 40
    both = parsed(**{"bigquery.budget.usd.per.day": "10", "bigquery.budget.bytes.per.day": "7"})
    assert budget_of(both, Prices()) == 7
    assert budget_of(parsed(), Prices()) is None
    assert budget_key_of(config, Prices()) == "bigquery.budget.usd.per.day", "what a user has set is what is told"
    assert budget_key_of(both, Prices()) == "bigquery.budget.bytes.per.day", "the lower one counts"
    much = parsed(**{"bigquery.budget.usd.per.day": "1", "bigquery.budget.bytes.per.day": str(1 << 50)})
    assert budget_key_of(much, Prices()) == "bigquery.budget.usd.per.day"
    with pytest.raises(ConfigError, match=r"prices: slots are paid whatever is read\."):
        budget_of(both, Prices(slots=100))
    with pytest.raises(ConfigError, match=r"prices: a query_tib of 0 is free\."):
        budget_of(both, Prices(query_tib=0.0))
    with pytest.raises(ConfigError, match=r"bigquery.prices.file.*cannot be read.*list prices"):
        prices_of_config(parsed(**{"bigquery.prices.file": str(tmp_path / "none.yaml")}))
    for text, words in ((b"- 1", "holds list, no prices"), (b"a: [", "cannot be read"), (b"query: 1", "is no price")):
        with pytest.raises(ConfigError, match=words):
            prices_in(text, "bigquery.prices.file")
    for amount in ("NaN", "Infinity", "1e400"):
        with pytest.raises(ConfigError, match=r"configuration bigquery\.budget\.usd\.per\.day: .*0 is no limit"):
            parsed(**{"bigquery.budget.usd.per.day": amount})
    with pytest.raises(ConfigError, match=r"bounds merges and compactions, and dedup\.mode=view has none"):
        parsed(**{"dedup.mode": "view", "bigquery.budget.bytes.per.day": "7"})
