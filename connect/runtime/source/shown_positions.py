"""Masks secrets in the positions that answers show, and finds the stored positions behind masked ones. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect.lib.secrets import HIDDEN
from connect.runtime.source.ledger import partition_key

Positions = Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
"""Holds pairs of a source partition and its offset (None: removed); their values are JSON's."""


def shown(positions: Positions, hide: Callable[[str], str], *, names: bool = True) -> Positions:
    """Return the positions with each text changed by `hide`; if `names` is true, the names of members, too."""
    hide_name = hide if names else str
    return [(_hidden(partition, hide, hide_name), _hidden(offset, hide, hide_name)) for partition, offset in positions]


def meant(given: Positions, stored: Positions, stored_as_shown: Positions) -> Positions:
    """Return the given positions with the stored values in place of masks.

    Raise ValueError if a mask stands for no stored value.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for at, (partition, _) in enumerate(stored_as_shown):
        places[partition_key(partition)].append(at)
    return [_meant(position, stored, stored_as_shown, places) for position in given]


def has_mask(value: object) -> bool:
    """Tell if a text in a value, however deep, holds a mask."""
    if isinstance(value, Mapping):
        return any(has_mask(key) or has_mask(one) for key, one in value.items())
    if isinstance(value, list | tuple):
        return any(map(has_mask, value))
    return isinstance(value, str) and HIDDEN in value


def _meant(
    position: tuple[Mapping[str, Any], Mapping[str, Any] | None],
    stored: Positions,
    stored_as_shown: Positions,
    places: Mapping[str, Sequence[int]],
) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    partition, offset = position
    if not has_mask(position):
        return position
    found = places.get(partition_key(partition), ())
    if len(found) != 1:
        reason = "none is stored" if not found else f"{len(found)} are stored that look so"
        raise ValueError(f"The partition {dict(partition)} stands for a stored one, but {reason}. Give it in full.")
    [at] = found
    return stored[at][0], _filled(offset, stored[at][1], stored_as_shown[at][1])


def _filled(value: Any, stored: Any, stored_as_shown: Any) -> Any:
    if not has_mask(value):
        return value
    if value == stored_as_shown:
        return stored
    if isinstance(value, Mapping) and isinstance(stored_as_shown, Mapping) and isinstance(stored, Mapping):
        names = dict(zip(stored_as_shown, stored, strict=True))
        return {
            names.get(name, name): _filled(one, stored.get(names.get(name, name)), stored_as_shown.get(name))
            for name, one in value.items()
        }
    raise ValueError(f"A value of an offset holds {HIDDEN}, which stands for nothing that is stored. Give it in full.")


def _hidden(value: Any, hide: Callable[[str], str], hide_name: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {hide_name(str(name)): _hidden(one, hide, hide_name) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(one, hide, hide_name) for one in value]
    return hide(value) if isinstance(value, str) else value
