"""States as a page shows them: a sign beside the word, so that no state is told by its colour alone. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple


class Sign(NamedTuple):
    """A picture of a state, and the kind of it by which it is coloured."""

    picture: str
    kind: str


_SIGNS: Final = {
    "RUNNING": Sign("●", "good"),
    "PAUSED": Sign("‖", "still"),
    "STOPPED": Sign("■", "still"),
    "FAILED": Sign("✕", "bad"),
    "UNASSIGNED": Sign("…", "odd"),
    "RESTARTING": Sign("↻", "odd"),
}
STATES: Final = tuple(_SIGNS)


def sign(state: str) -> Sign:
    """Return the picture and kind of a state."""
    return _SIGNS.get(state, Sign("?", "odd"))
