"""Prices each way to write a table for a day, and says which one fits and why. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from connect.api.optional.costs import ModeCost
from connectors.bigquery.cost.billing import Searched, insert_all_bytes, listing_and_deleting_bytes, merge_bytes
from connectors.bigquery.cost.prices import Prices
from connectors.bigquery.settings.quotas import TABLE_LOADS_A_DAY, USABLE_LOADS_A_DAY

DAY_S: Final = 86_400
_GIB: Final = 2**30
_TIB: Final = 2**40
CHEAP_USD: Final = 1.0
"""If merges cost less a day, no cheaper mode is looked for."""
_LONGER_S: Final = (600, 3600)
"""Merges are also priced with these intervals, in seconds, beside the one that is set."""
_LATEST: Final = "one row per key, the latest"


@dataclass(frozen=True, slots=True)
class TableSize:
    """Tells the size of a table. `partitions` is 0 if no column partitions it; each has `partition_days` days."""

    rows: int
    total_bytes: int
    partitions: int = 0
    partition_days: float = 1.0

    def grown(self, rows: int, row_bytes: int, days: int) -> TableSize:
        """Return the size after `days` days that each add `rows` rows, in new partitions."""
        partitions = self.partitions + math.ceil(days / self.partition_days) if self.partitions else 0
        return replace(
            self, rows=self.rows + days * rows, total_bytes=self.total_bytes + days * rows * row_bytes,
            partitions=partitions,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Traffic:
    """Tells how many rows come in a day, and how they are merged.

    A batch ends with `batch_rows` rows or `batch_bytes` bytes, also before its time. `key_bytes` are the bytes of a
    row's key, and `named_bytes` those of its key and order. `window_days` is the length of dedup.window, or one day if
    none is set. With dedup.mode=compact each task has a load job each `load_s` seconds, and the log is merged after
    `compact_s` seconds, or when its rows are `compact_percent` percent of the table's. Each of so many `tasks` may
    stage rows of its own for a merge, which also reads `memories` tables of remembered deletes.
    """

    rows_per_day: int
    row_bytes: int
    interval_s: float
    batch_rows: int
    batch_bytes: float = math.inf
    key_bytes: int = 8
    named_bytes: int = 40
    window_days: float = 1.0
    load_s: float = 900.0
    compact_s: float = DAY_S
    compact_percent: int = 25
    tasks: int = 1
    memories: int = 0

    @property
    def full_batches_a_day(self) -> float:
        """Return how many batches of a day end before their time."""
        return max(self.rows_per_day / self.batch_rows, self.rows_per_day * self.row_bytes / self.batch_bytes)

    @property
    def loads_a_day(self) -> float:
        """Return how many load jobs a day the settings of dedup.mode=compact ask for, whatever quota there is."""
        by_time = self.tasks * DAY_S / max(0.001, self.load_s)
        return min(self.rows_per_day, max(by_time, self.full_batches_a_day))

    @property
    def is_paced(self) -> bool:
        """Return True if batches of dedup.mode=compact wait for the quota of load jobs."""
        return self.loads_a_day > USABLE_LOADS_A_DAY


def plan(size: TableSize, traffic: Traffic, prices: Prices) -> Sequence[ModeCost]:
    """Return the cost of each mode, and mark the mode that fits best."""
    merges = [*_merges(size, traffic, prices)]
    window = [*_windowed(size, traffic, prices)]
    first = merges[0]
    exact = [*merges, *window, *_compacted(size, traffic, prices)]
    chosen = first if first.usd_per_day <= CHEAP_USD else min(exact, key=lambda cost: cost.usd_per_day)
    reason = (
        f"{_LATEST}; the table is small enough to merge as it is set"
        if chosen is first and first.usd_per_day <= CHEAP_USD
        else f"{chosen.why}; the cheapest of those that keep the latest"
    )
    ways = [*exact, _first(size, traffic, prices), *_others(traffic, prices)]
    return [replace(cost, fits=True, why=reason) if cost is chosen else cost for cost in ways]


def as_set(costs: Sequence[ModeCost], mode: str, *, keeps_first: bool, has_window: bool) -> Sequence[ModeCost]:
    """Return the costs, and mark as set the cost of `mode` with these settings."""
    reach = "keep=first" if keeps_first else "window" if has_window else "every" if mode == "merge" else ""
    names = [cost.mode for cost in costs if cost.mode.startswith(f"{mode}, {reach}")]
    # A table without partitions has no cost with a window, so the mode's first cost is taken.
    name = next(iter(names or [cost.mode for cost in costs if cost.mode.startswith(f"{mode}, ")]), "")
    return [replace(cost, is_set=cost.mode == name) for cost in costs]


def merges_a_day(traffic: Traffic, interval_s: float) -> int:
    """Return the most merges of a day: one per interval, more if batches fill up sooner, and none without rows."""
    by_time = DAY_S / max(1.0, interval_s)
    return min(traffic.rows_per_day, math.ceil(max(by_time, traffic.full_batches_a_day)))


def compactions_a_day(size: TableSize, traffic: Traffic) -> float:
    """Return how often a log is merged in a day: as its age or its part of the table's rows asks for, what is sooner.

    It is merged once for each load job at most, and the part of an empty table is not known.
    """
    loads = min(traffic.loads_a_day, USABLE_LOADS_A_DAY)
    by_age = DAY_S / max(1.0, traffic.compact_s)
    by_share = traffic.rows_per_day * 100 / (size.rows * traffic.compact_percent) if size.rows else 0.0
    return min(loads, max(by_age, by_share))


def _merges(size: TableSize, traffic: Traffic, prices: Prices) -> Iterator[ModeCost]:
    searched = Searched(size.rows, size.total_bytes, traffic.named_bytes)
    for interval_s in (traffic.interval_s, *(longer for longer in _LONGER_S if longer > traffic.interval_s)):
        name = f"merge, every {_duration(interval_s)}"
        yield _merged(name, searched, traffic, prices, interval_s=interval_s, why=_LATEST)


def _within_window(size: TableSize, traffic: Traffic) -> Searched:
    """Return the part of a partitioned table that a window reaches."""
    # The partition in which the window begins is searched as a whole.
    reach = math.ceil(traffic.window_days / size.partition_days) + 1
    share = min(1.0, reach / size.partitions)
    return Searched(math.ceil(size.rows * share), math.ceil(size.total_bytes * share), traffic.named_bytes)


def _compacted(size: TableSize, traffic: Traffic, prices: Prices) -> Iterator[ModeCost]:
    """Yield the cost of the compactions of a day, each of which lists a log, merges and deletes it. Loads are free."""
    times = compactions_a_day(size, traffic)
    parts = {f"compact, {_times(times)}": Searched(size.rows, size.total_bytes, traffic.named_bytes)}
    if size.partitions:
        parts[f"compact, window of {traffic.window_days:g}d"] = _within_window(size, traffic)
    rows = traffic.rows_per_day / times if times else 0
    log = Searched(math.ceil(rows), math.ceil(rows * traffic.row_bytes), traffic.named_bytes)
    for name, searched in parts.items():
        at_once = merge_bytes(searched, log.total_bytes, changes_rows=True, memories=traffic.memories)
        read = math.ceil(times * (at_once + listing_and_deleting_bytes(log)))
        usd = read / _TIB * prices.query_tib
        why = f"{_LATEST}, in a view at once; each query of the view reads key and order of all"
        why += _told_of_loads(traffic)
        if prices.slots:
            usd = prices.slots * prices.slot_hour * 24
            why = f"{why}; the reservation's price, whatever is read"
        freshness = f"{_duration(_load_interval_s(traffic))} + seconds"
        at_once = at_once if times else 0
        yield ModeCost(name, read, usd, freshness, fits=False, is_lower_bound=True, why=why, bytes_at_once=at_once)


def _load_interval_s(traffic: Traffic) -> float:
    """Return the time between two load jobs of a task, which is longer than set where batches wait for the quota."""
    paced_s = traffic.tasks * DAY_S / USABLE_LOADS_A_DAY
    return max(traffic.load_s, paced_s) if traffic.is_paced else traffic.load_s


def _told_of_loads(traffic: Traffic) -> str:
    """Return words about the quota of load jobs if those of the settings exceed it; else an empty text."""
    if not traffic.is_paced:
        return ""
    return (
        f"; {traffic.loads_a_day:,.0f} load jobs a day are asked for, and BigQuery takes {TABLE_LOADS_A_DAY:,} of a "
        "table: batches wait, so make them larger (dedup.merge.interval.ms, buffer.max.bytes)"
    )


def _windowed(size: TableSize, traffic: Traffic, prices: Prices) -> Iterator[ModeCost]:
    if not size.partitions:
        return
    searched = _within_window(size, traffic)
    name = f"merge, window of {traffic.window_days:g}d"
    why = f"{_LATEST}, within the window"
    yield _merged(name, searched, traffic, prices, interval_s=traffic.interval_s, why=why)


def _first(size: TableSize, traffic: Traffic, prices: Prices) -> ModeCost:
    searched = Searched(size.rows, size.total_bytes, traffic.key_bytes)
    return _merged(
        "merge, keep=first", searched, traffic, prices, interval_s=traffic.interval_s,
        why="one row per key, the first: no update is kept", changes_rows=False,
    )  # fmt: skip


def _merged(
    name: str, searched: Searched, traffic: Traffic, prices: Prices, *, interval_s: float, why: str,
    changes_rows: bool = True,
) -> ModeCost:  # fmt: skip
    times = merges_a_day(traffic, interval_s)
    staged = math.ceil(traffic.rows_per_day * traffic.row_bytes / times) if times else 0
    tables = min(traffic.tasks, math.ceil(traffic.rows_per_day / times)) if times else 0
    least = {"staging_tables": tables, "memories": traffic.memories if changes_rows else 0}
    at_once = merge_bytes(searched, staged, changes_rows=changes_rows, **least) if times else 0
    read = times * at_once
    usd = read / _TIB * prices.query_tib
    if times > DAY_S / max(1.0, interval_s):
        why = f"{why}; {times:,} merges a day, as batches are full before their time"
    if prices.slots:
        usd = prices.slots * prices.slot_hour * 24
        why = f"{why}; the reservation's price, whatever is read"
    freshness = f"{_duration(interval_s)} + seconds"
    return ModeCost(name, read, usd, freshness, fits=False, why=why, bytes_at_once=at_once)


def _others(traffic: Traffic, prices: Prices) -> Iterator[ModeCost]:
    sent = traffic.rows_per_day * traffic.row_bytes
    inserted = insert_all_bytes(traffic.rows_per_day, traffic.row_bytes)
    by_stream, by_insert = sent / _GIB * prices.storage_write_gib, inserted / _GIB * prices.insert_all_gib
    yield ModeCost(
        "cdc", sent, by_stream, "dedup.max.staleness", fits=False, is_lower_bound=True,
        why=f"{_LATEST}; BigQuery's merges in the background come on top, and the table is made for it",
    )  # fmt: skip
    yield ModeCost(
        "view", inserted, by_insert, "seconds", fits=False, is_lower_bound=True,
        why="one row per key in the view; each query of it reads key and order of all records, which stay",
    )  # fmt: skip
    yield ModeCost("none, insertAll", inserted, by_insert, "seconds", fits=False, why="every record is a row")
    yield ModeCost("none, Storage Write API", sent, by_stream, "seconds", fits=False, why="every record is a row")
    yield ModeCost("none, load jobs", 0, 0.0, "the interval", fits=False, why="every record is a row; loads are free")


def _times(a_day: float) -> str:
    if not a_day or round(a_day, 1) == 1:
        return "once a day"
    # The name has to leave the other columns of a terminal their room.
    number = f"{a_day:,.0f}" if a_day >= 10 else f"{a_day:.2g}"
    return f"{number}x a day" if a_day > 1 else f"every {1 / a_day:.2g} days"


def _duration(seconds: float) -> str:
    return f"{round(seconds / 60, 1):g} min" if seconds >= 60 else f"{seconds:g} s"
