"""Holds the settings of the BigQuery sink that histories draw from, each with what the README promises of them."""

from __future__ import annotations

from typing import Final

from bigquery_history_log import Promise

BUDGET_BYTES: Final = 4 << 30
DAYS_A_SECOND: Final = 1 / 30
"""Budgets are of days, and a history takes seconds."""
MANY: Final = 40
"""So many topics one history of eight has; it takes the time of twenty others."""
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
