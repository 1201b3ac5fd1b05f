"""Chooses the mode of a configuration. No other module reads dedup.mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from connectors.bigquery.dedup.rules import Keep
from connectors.bigquery.dedup.window import Late
from connectors.bigquery.modes.append import AppendMode
from connectors.bigquery.modes.auto import AutoMode
from connectors.bigquery.modes.cdc import CdcMode
from connectors.bigquery.modes.compact import CompactMode
from connectors.bigquery.modes.delete_only import DeleteOnlyMode
from connectors.bigquery.modes.insert_id import InsertIdMode
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.modes.mode import Mode
from connectors.bigquery.modes.view import ViewMode

if TYPE_CHECKING:
    from connectors.bigquery.settings.config import BigQuerySinkConfig

MODES: Final[dict[str, type[Mode]]] = {
    mode.name: mode for mode in (AppendMode, MergeMode, CompactMode, CdcMode, ViewMode, InsertIdMode)
}


def mode_of(config: BigQuerySinkConfig) -> Mode:
    """Return the mode of dedup.mode.

    With auto, and if both merge and compact are possible, the mode of each table is chosen later. Else auto means
    merge. If no fields tell rows apart it means none, or a mode that only deletes if deleteEnabled is set. The
    upserts of the Java connector are merged, as its readers look at the table.
    """
    if config.dedup_mode != AutoMode.name:
        return MODES[config.dedup_mode](config)
    if not config.dedup_fields:
        if config.delete and not config.upsert:
            return DeleteOnlyMode(config)
        return MergeMode(config) if config.upsert else AppendMode(config)
    is_open = config.dedup_keep == Keep.LATEST and Late(config.dedup_late) is not Late.APPEND and not config.upsert
    return AutoMode(config) if is_open else MergeMode(config)
