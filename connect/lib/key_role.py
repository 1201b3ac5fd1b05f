"""What a setting is for."""

from __future__ import annotations

from enum import StrEnum


class KeyRole(StrEnum):
    """What a setting is for, where a program that knows no connector by name has to find it: `connect poc` does."""

    NONE = ""
    PAGE_ROWS = "page rows"
    """How many rows a source takes at once; which rows it gives must not depend on it."""
    STATEMENT_LIMIT_MS = "statement limit"
    """The longest that one statement of a source may take in its database, in milliseconds; 0: no limit."""
