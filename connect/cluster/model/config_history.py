"""Lists the versions of a connector's configuration, and makes the records of a further one. Pure.

Versions are records of the config topic, so that every worker knows them. A configuration that came another way (from a
Java worker, or before there was a history) gets its version when it is first seen to differ from the last version; its
author is unknown then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from connect.cluster.model.config_records import ConfigHistoryRecord
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.history import Author, ConfigVersion

KEPT: Final = 20
"""This many versions of each connector are kept; older ones are deleted by tombstones."""


def versions(name: str, snapshot: ConfigSnapshot) -> list[ConfigVersion]:
    """Return all versions, oldest first; the last is the present configuration."""
    recorded = [version for _, version in sorted(snapshot.history.get(name, {}).items())]
    present = snapshot.connectors.get(name)
    if present is None or (recorded and recorded[-1].config == present):
        return recorded
    return [*recorded, ConfigVersion(_following(recorded), present)]


def added(name: str, snapshot: ConfigSnapshot, config: Mapping[str, str], author: Author) -> list[ConfigHistoryRecord]:
    """Return the records to write with a new configuration: its version, and tombstones of the oldest versions."""
    before = versions(name, snapshot)
    known = snapshot.history.get(name, {})
    unrecorded = [version for version in before if version.version not in known]
    new = ConfigVersion(_following(before), config, author)
    written = [ConfigHistoryRecord(name, version.version, version) for version in (*unrecorded, new)]
    surplus = [version.version for version in [*before, new][:-KEPT]]
    return [*written, *(ConfigHistoryRecord(name, number, None) for number in surplus)]


def removed(name: str, snapshot: ConfigSnapshot) -> list[ConfigHistoryRecord]:
    """Return the tombstones of a deleted connector's old configurations, which may hold secrets."""
    return [ConfigHistoryRecord(name, number, None) for number in sorted(snapshot.history.get(name, {}))]


def orphans(snapshot: ConfigSnapshot, unread: Collection[str] = ()) -> list[ConfigHistoryRecord]:
    """Return the tombstones of the versions of connectors that a Java worker has deleted.

    `unread` are connectors with a record that cannot be read; their versions are kept, as they may still exist.
    """
    gone = snapshot.history.keys() - snapshot.connectors.keys() - set(unread)
    return [record for name in sorted(gone) for record in removed(name, snapshot)]


def _following(recorded: list[ConfigVersion]) -> int:
    return recorded[-1].version + 1 if recorded else 1
