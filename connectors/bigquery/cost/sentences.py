"""Writes the costs of tables as sentences for the notes on a configuration. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from connect.api.optional.costs import ModeCost, TableCost, TopicRate
from connectors.bigquery.rows.sizes import bytes_told
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.settings.config_checks import send_limit_of
from connectors.bigquery.settings.quotas import send_sentences


def sentences(costs: Iterable[TableCost]) -> Iterator[str]:
    """Yield what a day of each mode costs, table by table."""
    for cost in costs:
        modes = "; ".join(map(_of_mode, cost.modes))
        fit = next((f" {mode.mode} fits: {mode.why}." for mode in cost.modes if mode.fits), "")
        yield f"dedup.mode: {cost.table}: {cost.facts}." + (f" A day costs about: {modes}.{fit}" if modes else "")


def budget_sentences(costs: Iterable[TableCost], budget_bytes: int | None, key: str) -> Iterator[str]:
    """Yield a sentence for each table whose day, or even one merge, costs more than the budget that `key` sets."""
    for cost in costs:
        for mode in cost.modes:
            if budget_bytes is None or not mode.is_set or mode.bytes_per_day <= budget_bytes:
                continue
            budget = bytes_told(budget_bytes)
            if mode.bytes_at_once > budget_bytes:
                yield (
                    f"{key}: {cost.table}: one merge is billed for about {bytes_told(mode.bytes_at_once)}, and "
                    f"{budget} is the budget of a day: nothing is merged. Rows stay in Kafka, or in the log of "
                    "dedup.mode=compact, and none is lost. Raise the budget, or set dedup.window."
                )
            else:
                yield (
                    f"{key}: {cost.table}: {mode.mode} is billed for about {bytes_told(mode.bytes_per_day)} a "
                    f"day, and {budget} is the budget: merges come further apart, and rows wait that long."
                )


def rate_sentences(config: BigQuerySinkConfig, rates: Mapping[str, TopicRate], location: str | None) -> Iterator[str]:
    """Yield a sentence if topics bring more bytes a second than BigQuery takes from a project by the configured API.

    Topics that enableBatchLoad names are written by load jobs, and do not count. `location` is that of the dataset.
    """
    limit = send_limit_of(config)
    if limit is None:
        return
    sent = [rate for topic, rate in rates.items() if topic not in config.batch_load]
    bytes_a_day = sum(rate.rows_per_day * (rate.row_bytes or 0) for rate in sent)
    keyed = "dedup.mode=compact" if config.mode.is_keyed else "enableBatchMode=true"
    fix = f"Set {keyed}, which goes by load jobs, or ask Google for more."
    yield from (f"dedup.mode: {text}" for text in send_sentences(limit, bytes_a_day, location, fix))


def _of_mode(cost: ModeCost) -> str:
    more = " and more" if cost.is_lower_bound else ""
    return f"{cost.mode} {bytes_told(cost.bytes_per_day)}, {cost.usd_per_day:,.2f} USD{more}"
