"""The versions of a connector's configuration: which there are, and what to write for a further one. Pure.

They are records of the config topic, so every worker knows them and they are stored as the configuration itself is. A
configuration that came another way (from a Java worker, from a time before there was a history) gets its version when
it is first seen to differ from the last one recorded; nobody knows then who wrote it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from connect.cluster.model.config_records import ConfigHistoryRecord
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.history import Author, ConfigVersion

KEPT: Final = 20
"""So many versions of each connector are kept; older ones become tombstones."""


def versions(name: str, snapshot: ConfigSnapshot) -> list[ConfigVersion]:
    """Return all versions, oldest first; the last is the present configuration."""
    recorded = [version for _, version in sorted(snapshot.history.get(name, {}).items())]
    present = snapshot.connectors.get(name)
    if present is None or (recorded and recorded[-1].config == present):
        return recorded
    return [*recorded, ConfigVersion(_following(recorded), present)]


def added(name: str, snapshot: ConfigSnapshot, config: Mapping[str, str], author: Author) -> list[ConfigHistoryRecord]:
    """Return the records of a configuration that is stored: its version, and tombstones of the oldest ones."""
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
    """Return what to write for connectors that went another way, deleted by a Java worker.

    `unread`: connectors of which a record cannot be read, so that nobody knows if they are there.
    """
    gone = snapshot.history.keys() - snapshot.connectors.keys() - set(unread)
    return [record for name in sorted(gone) for record in removed(name, snapshot)]


def _following(recorded: list[ConfigVersion]) -> int:
    return recorded[-1].version + 1 if recorded else 1
