"""Names the roles by which `connect poc` finds settings of any connector."""

from __future__ import annotations

from enum import StrEnum


class KeyRole(StrEnum):
    """Tells what a setting is for, so that `connect poc` finds it without knowing connectors or keys by name."""

    NONE = ""
    PAGE_ROWS = "page rows"
    """The setting is the number of rows that a source reads at once; which rows the source gives must not depend on
    it.
    """
    STATEMENT_LIMIT_MS = "statement limit"
    """The setting limits the milliseconds that one statement of a source may take in its database; 0 is no limit."""
