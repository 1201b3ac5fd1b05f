"""Holds the settings of the BigQuery sink that histories draw from, each with what the README promises of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from bigquery_history_log import Promise
from plain_bigquery import DATASET, PROJECT

from connectors.bigquery.settings.config import TASKS_KEY

BUDGET_BYTES: Final = 4 << 30
DAYS_A_SECOND: Final = 1 / 30
"""Budgets are of days, and a history takes seconds."""
MANY: Final = 40
"""So many topics one history of eight has; it takes the time of twenty others."""
TO_VIEW: Final = 0.2
"""So large a part of histories is short, and comes to a view while who merged last stands still, which is rare by
itself."""
MODES: Final = ("merge", "compact", "auto")
"""Modes that may follow each other."""
SETTINGS: Final = (
    ({"dedup.fields": "id"}, Promise()),
    ({"dedup.fields": "id", "dedup.delete": "soft"}, Promise(delete="soft")),
    ({"dedup.fields": "id", "dedup.delete": "gone=true"}, Promise(delete="gone=true")),
    ({"dedup.fields": "id,region", "dedup.null.key": "append"}, Promise(key=("id", "region"), appends_keyless=True)),
    ({"dedup.fields": "id", "dedup.order.by": "version", "dedup.delete": "gone=true"},
     Promise(delete="gone=true", by_version=True)),
    ({"dedup.fields": "id", "dedup.order.by": "version"}, Promise(by_version=True)),
    ({"dedup.fields": "id", "dedup.order.by": "version", "dedup.delete": "soft"},
     Promise(delete="soft", by_version=True)),
    ({"dedup.fields": "id", "dedup.keep": "first", "dedup.delete": "ignore"}, Promise(keep="first", delete="ignore")),
    ({"upsertEnabled": "true", "deleteEnabled": "true"}, Promise(key=("id", "region"), of_record_key=True)),
    ({"upsertEnabled": "true"}, Promise(key=("id", "region"), of_record_key=True, delete="ignore")),
    ({"dedup.fields": "__topic_id,__partition,__offset", "dedup.keep": "first", "dedup.delete": "ignore"},
     Promise(key=("place",), keep="first", delete="ignore")),
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """Holds what is drawn once for a history. may_log: its modes change. budget_bytes of 0: there is no budget."""

    names: Sequence[str]
    settings: Mapping[str, str]
    promise: Promise
    tasks: int
    budget_bytes: int
    may_log: bool
    comes_to_view: bool

    @classmethod
    def of(cls, draw: Random) -> Drawn:
        comes_to_view = draw.random() < TO_VIEW
        names = draw.choice([*[["t"]] * 2, *[["t", "u"]] * 5, [f"t{number}" for number in range(MANY)]])
        settings, promise = draw.choice([one for one in SETTINGS if one[1].keep == "latest" or not comes_to_view])
        may_log = promise.keep == "latest" and draw.random() < 0.5 and not comes_to_view
        if may_log:
            settings = {**settings, "dedup.mode": "compact", "dedup.compact.interval.ms": draw.choice(["0", "50"])}
        tasks, budget_bytes = draw.randint(1, 3), draw.choice([0, 0, BUDGET_BYTES])
        if comes_to_view:
            names, tasks, budget_bytes, settings = ["t"], 1, 0, {**settings, "dedup.mode": "merge"}
        shared = draw.choice([{}, {"topic2TableMap": "u:t"}]) if "u" in names else {}
        given = {
            "project": PROJECT, "defaultDataset": DATASET, "dedup.null.key": "dlq", TASKS_KEY: str(tasks),
            "dedup.merge.interval.ms": draw.choice(["0", "100", "300"]), "timePartitioningType": "NONE",
            "dedup.merge.max.records": draw.choice(["5", "1000"]), "allowNewBigQueryFields": "true",
            "allowBigQueryRequiredFieldRelaxation": "true", **settings, **shared,
        }  # fmt: skip
        if budget_bytes:
            given["bigquery.budget.bytes.per.day"] = str(budget_bytes)
        return cls(names, given, promise, tasks, budget_bytes, may_log, comes_to_view)
