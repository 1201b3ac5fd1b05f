"""Shows states with a sign beside the word, so that readers who do not see colours can tell them apart. Pure."""

from __future__ import annotations

from typing import Final, NamedTuple


class StateSign(NamedTuple):
    """Holds the sign of a state, and the kind that gives it its colour."""

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
