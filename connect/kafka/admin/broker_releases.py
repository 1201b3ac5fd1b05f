"""Reads what a broker's settings tell of its release, as no call of the client's names it. Pure.

Up to 3.9 the default of `inter.broker.protocol.version` is the broker's own release. 4.0 has neither that setting nor
those of ZooKeeper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka.admin import ConfigEntry, ConfigSource  # type: ignore[attr-defined]  # it re-exports them without saying so

PROTOCOL: Final = "inter.broker.protocol.version"
_ROLES: Final = "process.roles"
"""It has a value where the broker needs no ZooKeeper; PROTOCOL means nothing there."""
_ZOOKEEPER: Final = "zookeeper.connect"
_FIRST_WITHOUT: Final = (4, 0)
_RELEASE: Final = re.compile(r"(\d+)\.(\d+)(?:\D.*)?")

Release = tuple[int, int]


@dataclass(frozen=True, slots=True)
class BrokerRelease:
    """Tells what is known of a broker's release. None: nothing.

    With `is_least` it may be of a later one. `held_at` is the older release whose protocol its file holds it to.
    `names` are all of its settings, `known` those that have a default in its own code.
    """

    release: Release | None = None
    is_least: bool = False
    held_at: Release | None = None
    names: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()


def release_of(entries: Mapping[str, ConfigEntry]) -> BrokerRelease:
    """Return what the settings of a broker tell of its release."""
    names = frozenset(entries)
    known = frozenset(name for name, entry in entries.items() if _default(name, entry) is not None)
    protocol = entries.get(PROTOCOL)
    if protocol is None:
        is_later = _ROLES in names and _ZOOKEEPER not in names
        return BrokerRelease(_FIRST_WITHOUT if is_later else None, is_later, None, names, known)
    own, used = _release(_default(PROTOCOL, protocol)), _release(protocol.value)
    roles = entries.get(_ROLES)
    is_used = roles is None or not roles.value
    held_at = used if is_used and own is not None and used is not None and used < own else None
    return BrokerRelease(own or used, own is None and used is not None, held_at, names, known)


def _default(name: str, entry: ConfigEntry) -> str | None:
    """Return the value that a setting has by default; None if its default is not told."""
    own = entry.synonyms.get(name) if entry.synonyms else None
    for one in (entry, own):
        # The client gives the number of the source where its declaration says the source.
        if one is not None and getattr(one.source, "value", one.source) == ConfigSource.DEFAULT_CONFIG.value:
            return one.value or ""
    return None


def _release(text: str | None) -> Release | None:
    found = _RELEASE.fullmatch(text or "")
    return None if found is None else (int(found[1]), int(found[2]))
