"""Finds the changes by which a cluster gets the connectors that files describe. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from connect.api.errors import ConfigError
from connect.client.manifests import Manifest
from connect.lib.printable import counted
from connect.lib.secrets import HIDDEN

Verb = Literal["create", "update", "leave", "delete"]


@dataclass(frozen=True, slots=True)
class KeyChange:
    """Holds the value of a key before and after a change; None if the key is not there."""

    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """Describes what to do with one connector.

    `hidden` holds the keys whose values the cluster masks, so that nobody can tell if they change.
    """

    verb: Verb
    name: str
    manifest: Manifest | None = None
    keys: tuple[KeyChange, ...] = ()
    hidden: tuple[str, ...] = ()
    state: str | None = field(default=None)
    """Holds the state to bring the connector to; None: its state stays as it is."""


def changes(wanted: Collection[Manifest], present: Mapping[str, Any], *, prune: bool) -> list[Change]:
    """Return the changes, sorted by name. `present` is the answer of GET /connectors?expand=info&expand=status.

    With `prune` connectors that no file describes are deleted. ConfigError: no file describes any connector, so pruning
    would delete all of them.
    """
    if prune and present and not wanted:
        raise ConfigError(
            f"No file wants a connector, so that pruning would delete {counted(len(present), 'connector')}, as where "
            "a folder is not mounted.",
            fix="Look at the folder, or delete the last ones by `connect connectors delete NAME`.",
        )
    found = [_change(manifest, present.get(manifest.name)) for manifest in wanted]
    if prune:
        names = {manifest.name for manifest in wanted}
        found.extend(Change("delete", name) for name in present if name not in names)
    return sorted(found, key=lambda change: change.name)


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[tuple[KeyChange, ...], tuple[str, ...]]:
    """Return the keys that change, and the keys of which the cluster only shows a mask. `name` is not compared."""
    keys = sorted((before.keys() | after.keys()) - {"name"})
    hidden = tuple(key for key in keys if HIDDEN in before.get(key, "") and key in after and after[key] != before[key])
    changed = (KeyChange(key, before.get(key), after.get(key)) for key in keys if key not in hidden)
    return tuple(change for change in changed if change.before != change.after), hidden


def _change(manifest: Manifest, present: Mapping[str, Any] | None) -> Change:
    if present is None or "info" not in present:
        keys = tuple(KeyChange(key, None, value) for key, value in sorted(manifest.config.items()))
        return Change("create", manifest.name, manifest, keys, state=manifest.state)
    keys, hidden = differences(present["info"]["config"], manifest.config)
    is_state = present.get("status", {}).get("connector", {}).get("state")
    state = manifest.state if manifest.state not in {None, is_state} else None
    return Change("update" if keys or hidden or state else "leave", manifest.name, manifest, keys, hidden, state)
