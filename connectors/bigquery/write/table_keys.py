"""Notes on a table by which fields its rows are told apart, so that no process merges into them by other fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from connect.api.errors import RetriableError
from connectors.bigquery.dedup.rules import DedupColumns
from connectors.bigquery.dedup.side_tables import KEYS_LABEL
from connectors.bigquery.merge.merge_line import MergeLine
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.key_changes import NEW, has_rows, key_labels, told_apart_otherwise
from connectors.bigquery.warehouse.table_facts import TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse


def note_keys(
    config: BigQuerySinkConfig, warehouse: Warehouse, line: MergeLine, table: TableFacts, dedup: DedupColumns
) -> None:
    """Note the keys and order of the rows that come in labels of a table, which `check_keys` has accepted before.

    Raise RetriableError if another process has labelled the table meanwhile, and ConfigError if it has merged rows by
    other keys.
    """
    wanted, known = dict(key_labels(config, dedup)), table.labels.get(KEYS_LABEL)
    own = wanted.get(KEYS_LABEL)
    if own is None or known in {own, own.removeprefix(NEW)}:
        wanted.pop(KEYS_LABEL, None)
        if not wanted.items() <= table.labels.items():
            warehouse.label(table.name, wanted)
        return
    _relabel(warehouse, table.name, {known, own}, wanted)
    if known is None or known.startswith(NEW):
        # No process can merge by the known keys any more: it replaces their label first, and finds another one.
        return
    line.end(table.name)
    now = warehouse.table(table.name)
    if now is not None and has_rows(warehouse, now):
        _relabel(warehouse, table.name, {own, known}, {KEYS_LABEL: known})
        raise told_apart_otherwise(config, table.name)


def _relabel(warehouse: Warehouse, target: str, known: Collection[str | None], new: Mapping[str, str]) -> None:
    """Add labels to a table if its label of keys is one of `known`; raise RetriableError if it is not."""
    if not warehouse.relabel(target, lambda now: {**now, **new} if now.get(KEYS_LABEL) in known else None):
        raise RetriableError(f"Somebody else has labelled the keys of table {target}; it is looked at again.")
