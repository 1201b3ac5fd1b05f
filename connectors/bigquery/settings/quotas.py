"""Computes from the settings how near BigQuery's quotas come. Pure.

A table and a project take a limited number of load jobs a day, and failed ones count, too. A table with partitions has
a quota for changes of partitions instead. That one is not predicted, as it depends on the records:
https://docs.cloud.google.com/bigquery/quotas#load_jobs
https://docs.cloud.google.com/bigquery/docs/optimize-load-jobs

MERGE, UPDATE and DELETE have no limit a day. Two statements of a table run at a time, and 20 wait in line. The sink
sends one statement of a table at a time, for the rows of all tasks:
https://docs.cloud.google.com/bigquery/docs/data-manipulation-language

insertAll and the Storage Write API have a limit of bytes a second for the whole project, which is higher in the
multi-regions US and EU. dedup.mode=cdc uses the latter:
https://docs.cloud.google.com/bigquery/quotas#streaming_inserts
https://docs.cloud.google.com/bigquery/quotas#write-api-limits
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

DAY_S: Final = 86_400
TABLE_LOADS_A_DAY: Final = 1_500
PROJECT_LOADS_A_DAY: Final = 100_000
_USABLE: Final = 0.9
"""The settings may plan with this part of a quota; the rest is kept for batches that fill before their time."""
USABLE_LOADS_A_DAY: Final = _USABLE * TABLE_LOADS_A_DAY
"""The settings may plan with so many load jobs a day of a table."""
_PEAK: Final = 3
"""In the busiest minutes of a day so many times the mean rate is expected."""
_MULTI_REGIONS: Final = frozenset({"us", "eu"})
_MB: Final = 10**6


@dataclass(frozen=True, slots=True)
class Loads:
    """Tells which load jobs the settings need: one of each table and task in each interval.

    With `are_lasting` the jobs load into the table or its log, and else each into its own staging table. `key` is the
    setting of the interval, whose unit is `unit_s` seconds.
    """

    tasks: int
    tables: int
    interval_s: float
    are_lasting: bool
    key: str
    unit_s: float


@dataclass(frozen=True, slots=True)
class SendLimit:
    """Tells how many bytes a second an API takes from a project, in a region and in a multi-region."""

    api: str
    region_bytes_per_s: int
    multi_region_bytes_per_s: int

    def bytes_per_s(self, location: str | None) -> int:
        """Return the limit at the dataset's location; the lower limit if the location is None."""
        is_multi = (location or "").lower() in _MULTI_REGIONS
        return self.multi_region_bytes_per_s if is_multi else self.region_bytes_per_s


INSERT_ALL: Final = SendLimit("insertAll", 300 * _MB, 1000 * _MB)
STORAGE_WRITE: Final = SendLimit("the Storage Write API", 300 * _MB, 3000 * _MB)


def send_sentences(limit: SendLimit, bytes_a_day: float, location: str | None, fix: str) -> Iterator[str]:
    """Yield a sentence if more bytes come than an API takes, in the mean of a day or in its busiest minutes."""
    mean, most = bytes_a_day / DAY_S, limit.bytes_per_s(location)
    if mean * _PEAK <= most:
        return
    when = "in the mean of a day" if mean > most else f"with busy minutes of {_PEAK} times the mean"
    yield (
        f"About {mean / _MB:,.0f} MB a second come from the topics, and BigQuery takes {most / _MB:,.0f} MB a second "
        f"by {limit.api} of a whole project in {location or 'one region'}: {when} requests are refused for now, and "
        f"rows wait. {fix}"
    )


def quota_sentences(loads: Loads) -> Iterator[str]:
    """Yield a sentence for each quota, of a table or of the project, that the load jobs of the settings exceed."""
    interval_s = max(0.001, loads.interval_s)
    of_table = loads.tasks * DAY_S / interval_s
    whole = of_table * loads.tables
    tasks = "1 task" if loads.tasks == 1 else f"{loads.tasks} tasks"
    if loads.are_lasting and of_table > USABLE_LOADS_A_DAY:
        yield (
            f"{tasks} may load into a table each {interval_s:g} s, which is {of_table:,.0f} load jobs a "
            f"day, and BigQuery takes {TABLE_LOADS_A_DAY:,} of a table: batches will wait, and the metric "
            "load_quota_table_used_percent says how near it is. "
            f"{_remedy(loads, loads.tasks * DAY_S / USABLE_LOADS_A_DAY)}"
        )
    if whole > _USABLE * PROJECT_LOADS_A_DAY:
        yield (
            f"{tasks} may load into {loads.tables} tables each {interval_s:g} s, which is {whole:,.0f} "
            f"load jobs a day, and BigQuery takes {PROJECT_LOADS_A_DAY:,} of a whole project: batches will wait, of "
            "other connectors, too, and the metric load_quota_project_used_percent says how near it is. "
            f"{_remedy(loads, loads.tasks * loads.tables * DAY_S / (_USABLE * PROJECT_LOADS_A_DAY))}"
        )


def _remedy(loads: Loads, least_s: float) -> str:
    least = math.ceil(round(least_s / loads.unit_s, 6))
    return f"Set {loads.key} to {least} or more, or tasks.max to less."
