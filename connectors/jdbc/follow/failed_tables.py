"""Makes the text about tables that are left aside while others go on. Pure."""

from __future__ import annotations

from collections.abc import Mapping


def left_aside(why: Mapping[str, str], until: str) -> str | None:
    """Return one line that names each table with its reason, or None if no table is left aside.

    `why` holds the reason and the fix by table. `until` says when the tables are tried again.
    """
    if not why:
        return None
    count = "1 table is" if len(why) == 1 else f"{len(why)} tables are"
    reasons = " ".join(f"{table}: {' '.join(text.split())}" for table, text in why.items())
    return f"{count} left aside, {until}; the others go on. {reasons}"
