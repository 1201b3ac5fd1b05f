"""Chooses the mode of a configuration: the one place where dedup.mode is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connectors.bigquery.modes.append import AppendMode
from connectors.bigquery.modes.cdc import CdcMode
from connectors.bigquery.modes.compact import CompactMode
from connectors.bigquery.modes.insert_id import InsertIdMode
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.modes.mode import Mode
from connectors.bigquery.modes.view import ViewMode

if TYPE_CHECKING:
    from connectors.bigquery.settings.config import BigQuerySinkConfig

MODES: Final[dict[str, type[Mode]]] = {
    mode.name: mode for mode in (AppendMode, MergeMode, CompactMode, CdcMode, ViewMode, InsertIdMode)
}
AUTO: Final = "auto"


def mode_of(config: BigQuerySinkConfig) -> Mode:
    """Return the mode of dedup.mode; auto stands for merge where something says what a row is, else for none."""
    if config.dedup_mode != AUTO:
        return MODES[config.dedup_mode](config)
    return MergeMode(config) if config.dedup_fields or config.upsert else AppendMode(config)
