"""Asks BigQuery for the facts that a table's costs depend on, and says which facts were assumed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from connect.api.errors import ConfigError, ConnectError
from connect.api.optional.costs import CostQuestion, ModeCost, TableCost, TopicRate
from connectors.bigquery.cost.choosing import new_choice
from connectors.bigquery.cost.plan import CHEAP_USD, DAY_S, TableSize, Traffic, as_set, plan
from connectors.bigquery.cost.prices import Prices, list_prices_in, prices_in
from connectors.bigquery.dedup.rules import Keep
from connectors.bigquery.dedup.window import parse_window
from connectors.bigquery.modes.auto import EMPTY, VIEW_TAKEN, Choice
from connectors.bigquery.modes.compact import CompactMode
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.modes.view_names import is_view_taken
from connectors.bigquery.rows.sizes import bytes_told
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.settings.config_checks import most_tasks
from connectors.bigquery.tables.mode_changes import kept_choice
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse

_DAYS: Final = {"HOUR": 1 / 24, "DAY": 1.0, "MONTH": 30.0, "YEAR": 365.0}
_DAY_MS: Final = DAY_S * 1000
_AHEAD_DAYS: Final = 30
"""Costs are also told for so many days ahead, as a table that is new or small costs nothing today."""


def table_costs(
    config: BigQuerySinkConfig, warehouse: Warehouse, question: CostQuestion, now_s: float
) -> Sequence[TableCost]:
    """Return the costs of each topic's table. A table that cannot be looked at has the reason instead of costs."""
    prices = Prices() if question.prices is None else prices_in(question.prices, "prices")
    if not config.named_topics:
        raise ConfigError("No table is known before records come.", key="topics", fix="Name topics in topics.")
    warehouse.look()
    asked = _Asked(config, warehouse, question, prices, now_s)
    return _costs(asked)


def costs_of_existing(
    config: BigQuerySinkConfig, warehouse: Warehouse, question: CostQuestion, prices: Prices, now_s: float
) -> Sequence[TableCost]:
    """Return the costs of the tables that have rows or whose topics have a rate.

    Return none if no keys tell rows apart, or if there are transforms, as these may change a record's table.
    """
    if not config.mode.is_keyed or config.originals.get("transforms", "").strip():
        return []
    asked = _Asked(config, warehouse, question, prices, now_s)
    return [cost for cost in _costs(asked) if cost.modes]


def choice_for(config: BigQuerySinkConfig, warehouse: Warehouse, prices: Prices, target: str, now_s: float) -> Choice:
    """Return the mode that dedup.mode=auto now takes for an existing table."""
    found = warehouse.table(target)
    kept = None if found is None else kept_choice(warehouse, found)
    if kept is not None:
        return kept
    asked = _Asked(config, warehouse, CostQuestion(), prices, now_s, counts_tasks=False)
    return _new_choice(config, target, _cost_of(asked, target, found, None).modes)


def _new_choice(config: BigQuerySinkConfig, target: str, costs: Sequence[ModeCost]) -> Choice:
    """Return the mode that costs less a day, but merge if the table's view would have a topic table's name."""
    found = new_choice(costs, has_window=parse_window(config.dedup_window) is not None)
    is_taken = is_view_taken(target, config.named_topics, config.table_names, config.view_suffix)
    return Choice(MergeMode.name, VIEW_TAKEN) if is_taken and found.mode == CompactMode.name else found


def told_of_dear_merges(
    config: BigQuerySinkConfig, warehouse: Warehouse, prices: Prices, found: TableFacts, now_s: float
) -> str:
    """Return a sentence if dedup.mode=auto would no longer choose merges for the table; else an empty text."""
    if not found.rows:
        return ""
    asked = _Asked(config, warehouse, CostQuestion(), prices, now_s, counts_tasks=False)
    choice = _new_choice(config, found.name, _cost_of(asked, found.name, found, None).modes)
    if choice.mode == MergeMode.name:
        return ""
    return (
        f" As it has grown, {choice.why}: set dedup.mode={choice.mode}, which keeps its rows, and read its view then."
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """Holds the settings, prices and client by which each table is looked at and priced.

    With `counts_tasks` a merge is priced as if each task staged rows of the table. No choice of a mode goes by that:
    only tasks with partitions of the topic do, and their number is not known.
    """

    config: BigQuerySinkConfig
    warehouse: Warehouse
    question: CostQuestion
    prices: Prices
    now_s: float
    counts_tasks: bool = True


def _costs(asked: _Asked) -> list[TableCost]:
    """Return the cost of each topic's table. Tables are looked at side by side, as a validation has to end."""
    config = asked.config
    return asked.warehouse.side_by_side(lambda topic: _cost(asked, topic), config.named_topics, config.threads)


def _cost(asked: _Asked, topic: str) -> TableCost:
    """Return the cost of a topic's table, or the reason why the table cannot be looked at."""
    target = asked.config.table_names.table(topic)
    try:
        return _cost_of(asked, target, asked.warehouse.table(target), asked.question.rates.get(topic))
    except ConnectError as error:
        return TableCost(asked.config.table_path(target), f"The table cannot be looked at: {error}", ())


def _cost_of(asked: _Asked, target: str, found: TableFacts | None, rate: TopicRate | None) -> TableCost:
    config, question = asked.config, asked.question
    name = config.table_path(target)
    size, told = _size(asked.warehouse, found, asked.now_s)
    rows_per_day, row_bytes = question.rows_per_day, question.row_bytes
    got_per_day: float = math.inf
    if rate is not None and rows_per_day is None:
        rows_per_day = rate.rows_per_day
        told += f"; sampled: {_told_of(rate)}"
    if found is not None and size.rows:
        days = max(1.0, (asked.now_s * 1000 - found.created_ms) / _DAY_MS)
        got_per_day = math.ceil(size.rows / days)
        if rows_per_day is None:
            rows_per_day = got_per_day
            told += f"; assumed: as many records a day as it got rows in each of its {days:.0f} days"
        row_bytes = math.ceil(size.total_bytes / size.rows) if row_bytes is None else row_bytes
    if row_bytes is None and rate is not None and rate.row_bytes is not None:
        row_bytes = rate.row_bytes
        told += "; assumed: a row is as large as a record's value in Kafka"
    if rows_per_day is None or row_bytes is None:
        return TableCost(name, f"{told}; say what will come by --rows-per-day and --row-bytes", ())
    window_ms = parse_window(config.dedup_window)
    traffic = Traffic(
        rows_per_day, row_bytes, interval_s=config.interval_ms / 1000, batch_rows=config.max_records,
        batch_bytes=max(1, config.buffer_max_bytes // 2),
        window_days=1.0 if window_ms is None else window_ms / _DAY_MS,
        load_s=CompactMode(config).batch_interval_s(topic=""), compact_s=config.compact_interval_ms / 1000,
        compact_percent=config.compact_percent, tasks=most_tasks(config) if asked.counts_tasks else 1,
        memories=MergeMode(config).remembers_deletes + MergeMode(config).remembers_clears,
    )  # fmt: skip
    growth = int(min(got_per_day, rows_per_day))
    grown = size.grown(growth, row_bytes, _AHEAD_DAYS)
    told += f"; {rows_per_day:,} records of {row_bytes:,} bytes a day"
    told += f". {assumed}" if (assumed := list_prices_in(asked.prices)) else ""
    costs, mode, has_window = plan(size, traffic, asked.prices), config.mode.name, window_ms is not None
    if config.mode.chooses:
        kept = None if found is None else kept_choice(asked.warehouse, found)
        # The rate of the topic is no reason for a choice, as the sink chooses by the table when its first rows come.
        by_table = plan(size, replace(traffic, tasks=1), asked.prices)
        choice = kept or (_new_choice(config, target, by_table) if size.rows else Choice(MergeMode.name, EMPTY))
        mode = choice.mode
        told += f". dedup.mode=auto takes {mode} for it: {choice.why}"
        told += f"; read its view {target}{config.view_suffix}" if mode == CompactMode.name else ""
    is_first = config.dedup_keep == Keep.FIRST

    def marked(costs: Sequence[ModeCost]) -> Sequence[ModeCost]:
        return as_set(costs, mode, keeps_first=is_first, has_window=has_window)

    if not is_first:
        told += _told_of_growth(marked(plan(grown, traffic, asked.prices)), growth)
    return TableCost(name, told, marked(costs))


def _told_of_growth(costs: Sequence[ModeCost], rows_a_day: int) -> str:
    """Return what a day of the configured mode will cost if another mode will cost less; else an empty text."""
    will_fit = next(cost for cost in costs if cost.fits)
    is_set = next((cost for cost in costs if cost.is_set), will_fit)
    if is_set.usd_per_day <= max(CHEAP_USD, will_fit.usd_per_day):
        return ""
    return (
        f". In {_AHEAD_DAYS} days, if it gets {rows_a_day:,} rows more a day, a day of {is_set.mode} costs about "
        f"{is_set.usd_per_day:,.2f} USD, and of {will_fit.mode} {will_fit.usd_per_day:,.2f}"
    )


def _told_of(rate: TopicRate) -> str:
    """Return the sampled rate of a topic in words."""
    hours = f"{rate.span_s / 3600:g} hours" if rate.span_s > 3600 else f"{rate.span_s / 60:g} minutes"
    told = f"{rate.rows_per_day:,} records a day, as in the last {hours} of its topic"
    if rate.distinct_keys:
        told += f" (of the last {rate.sampled_records:,} records {rate.distinct_keys:,} keys differ)"
    return told


def _size(warehouse: Warehouse, found: TableFacts | None, now_s: float) -> tuple[TableSize, str]:
    """Return the size of a table, and the size in words."""
    if found is None:
        return TableSize(0, 0), "The table does not exist yet"
    told = f"{found.rows:,} rows, {bytes_told(found.total_bytes)}"
    partitions = 0
    if found.partitioning is not None and found.partition_by is not None:
        try:
            partitions = _partitions(warehouse, found.name)
            told += f", {partitions} partitions by {found.partitioning} of {found.partition_by}"
        except ConnectError as error:
            # Its age in days stands for the number. With 0 no window would be priced, and each search would count as
            # one of the whole table.
            days = max(0.0, (now_s * 1000 - found.created_ms) / _DAY_MS)
            partitions = max(1, math.ceil(days / _DAYS.get(found.partitioning, 1.0)))
            told += (
                f", partitioned by {found.partitioning} of {found.partition_by}; assumed: {partitions} partitions, as "
                f"old as it is, since they cannot be counted ({error.message})"
            )
    told += f", clustered by {', '.join(found.cluster_by)}" if found.cluster_by else ", not clustered"
    return TableSize(found.rows, found.total_bytes, partitions, _DAYS.get(found.partitioning or "", 1.0)), told


def _partitions(warehouse: Warehouse, table: str) -> int:
    """Return how many partitions with rows a table has."""
    schema = warehouse.path("INFORMATION_SCHEMA").removesuffix(".`INFORMATION_SCHEMA`")
    name = table.replace("\\", "\\\\").replace("'", "\\'")
    sql = (
        f"SELECT COUNT(*) AS n FROM {schema}.INFORMATION_SCHEMA.PARTITIONS "  # noqa: S608 - quoted above
        f"WHERE table_name = '{name}' AND total_rows > 0"
    )
    return int(warehouse.rows(sql, f"counting the partitions of table {table}")[0]["n"])
