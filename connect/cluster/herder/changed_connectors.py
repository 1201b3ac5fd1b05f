"""Tells the herder which connectors may have changed since it last looked, so that a look costs what has changed.

In a cluster of a thousand connectors each new one has several records, and a look at all of them for each record was
most of what a worker did. Steps that are due by time, and what nobody has told of, are left to the looks at everything,
which `PeriodicReconcile` has made each second after a change.
"""

from __future__ import annotations

from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.store.config_store import ConfigStore
from connect.cluster.store.status_store import StatusStore


class ChangedConnectors:
    """Compares both topics and the group with the last look. Owned by the herder's thread."""

    def __init__(self, configs: ConfigStore, statuses: StatusStore) -> None:
        self._configs = configs
        self._statuses = statuses
        self._seen: tuple[int, int, object] | None = None
        self._looks: tuple[int, int, object] | None = None

    def forget(self) -> None:
        """Let the next look be at all connectors."""
        self._seen = None

    def begin(self, snapshot: ConfigSnapshot, around: object) -> frozenset[str] | None:
        """Return the connectors that this look has to be at; None: at all.

        `around` is what every task depends on, such as the group. If it has changed the look is at all, and so it is
        behind a look that has not ended.
        """
        seen, self._seen = self._seen, None
        self._looks = (snapshot.next_offset, self._statuses.changes, around)
        if seen is None or seen[2] != around or seen[0] > snapshot.next_offset:
            return None
        configs, statuses = self._configs.changed_since(seen[0]), self._statuses.recent.since(seen[1])
        if configs is None or statuses is None:
            return None
        return configs | statuses

    def end(self) -> None:
        """Take note that the look has ended well."""
        self._seen = self._looks
