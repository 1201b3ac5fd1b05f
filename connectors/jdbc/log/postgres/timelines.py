"""Finds the place from which to go on where a standby took over without the last transactions of its primary. Pure.

A standby that takes over begins a timeline of its own, and its log counts on from where it was. The same LSNs then name
other changes than those that the connector had of the primary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from connectors.jdbc.log.shared.position import Coordinate, LogPosition, lsn_of_text, text_of_lsn

FIX: Final = "A snapshot of the connector, after its offsets were reset, has the rows as they are."


def fork_of(history: str, timeline: int) -> int | None:
    """Return the LSN at which a timeline was left, by the history of the server's present one.

    Return None if the present one does not come from it.
    """
    lines = (line.split() for line in history.splitlines())
    return next((lsn_of_text(words[1]) for words in lines if len(words) > 1 and words[0] == str(timeline)), None)


def furthest_lsn(position: LogPosition) -> int:
    """Return the LSN up to which some changes were delivered."""
    return max(position.commit_lsn, position.reached.final_lsn, *(at.final_lsn for at in position.ahead.values()), 0)


def back_at(position: LogPosition, fork_lsn: int) -> LogPosition:
    """Return the position moved back to the LSN at which its timeline was left, so that no later change is missed.

    Changes of before come no second time.
    """
    end = Coordinate(fork_lsn)
    is_told = position.told is not None and position.told.lsn < fork_lsn
    return replace(
        position,
        commit_lsn=min(position.commit_lsn, fork_lsn),
        reached=min(position.reached, end),
        ahead={table: min(at, end) for table, at in position.ahead.items()},
        told=position.told if is_told else None,
        # Numbers of transactions that a snapshot has seen behind the fork are given to others.
        fences=position.fences if position.snapshot is not None else {},
    )


def told_fork(position: LogPosition, timeline: int, fork_lsn: int, slot_lsn: int) -> str:
    """Return what a person should know of a server that took over before it had everything that was delivered."""
    delivered, fork = text_of_lsn(furthest_lsn(position)), text_of_lsn(fork_lsn)
    missing = (
        ""
        if slot_lsn <= fork_lsn
        else f" Its slot begins at {text_of_lsn(slot_lsn)}, so that changes between the two are missing."
    )
    return (
        f"The server took over at {fork} (timeline {timeline}), and changes up to {delivered} were delivered of the "
        f"one before (timeline {position.timeline}). Reading goes on at {fork}: what the server before had committed "
        f"behind that is in the topics, and not in the database.{missing} {FIX}"
    )


def told_stranger(position: LogPosition, timeline: int) -> str:
    """Return what a person should know of a server whose timeline does not come from that of the place."""
    return (
        f"The server's timeline {timeline} does not come from timeline {position.timeline}, of which the place "
        f"{text_of_lsn(position.commit_lsn)} is: unless pg_upgrade made this server, it is another one, which has "
        f"other changes there. {FIX}"
    )
