"""States as a page shows them: a sign beside the word, so that no state is told by its colour alone. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple


class StateSign(NamedTuple):
    """A picture of a state, and the kind of it by which it is coloured."""

    picture: str
    kind: str


_SIGNS: Final = {
    "RUNNING": StateSign("●", "good"),
    "PAUSED": StateSign("‖", "still"),
    "STOPPED": StateSign("■", "still"),
    "FAILED": StateSign("✕", "bad"),
    "UNASSIGNED": StateSign("…", "odd"),
    "RESTARTING": StateSign("↻", "odd"),
}
STATES: Final = tuple(_SIGNS)


def sign(state: str) -> StateSign:
    """Return the picture and kind of a state."""
    return _SIGNS.get(state, StateSign("?", "odd"))
