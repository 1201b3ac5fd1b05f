"""Tells if an error of a database means that rows are at fault, a table has changed, or a right is missing. Pure.

Sources: PostgreSQL's table of error codes (appendix A), MariaDB's and MySQL's lists of server errors.
"""

from __future__ import annotations

from typing import Final

from connect.api.errors import ConnectError

_REFUSED_STATES: Final = ("09", "21", "22", "23", "27", "38", "44", "54", "P0")
"""An error of one of these SQLSTATE classes means that rows are at fault.

In this order they are: a trigger's exception, one row twice in a statement, data exception, integrity violation, a
trigger that changed the row, a function's error, the condition of a view, a limit of the program (as of an index),
RAISE.
"""
_REFUSED_NUMBERS: Final = frozenset({
    1048, 1062, 1118, 1138, 1216, 1263, 1264, 1265, 1292, 1364, 1366, 1367, 1369, 1406, 1411, 1416, 1452, 1525, 1526,
    1592, 1644, 1690, 1748, 3140, 3156, 3157, 3819, 4025, 4078,
})  # fmt: skip
_REFUSED_KINDS: Final = frozenset({"DataError", "IntegrityError"})
_CHANGED_STATES: Final = frozenset({"42P01", "42703", "0A000", "42S02", "42S22"})
"""These SQLSTATEs mean that a table or column is missing, or that a cached plan is for a table that was changed."""
_CHANGED_NUMBERS: Final = frozenset({1054, 1146, 1136})
_CHANGED_SQLITE: Final = ("no such table", "no such column", "has no column")
_DENIED_STATES: Final = frozenset({"42501", "28000"})
_DENIED_NUMBERS: Final = frozenset({1044, 1142, 1143, 1227, 1370})


class RefusedRowsError(ConnectError):
    """Says that the database refuses some of the rows that were written together."""


def refuses_rows(error: BaseException) -> bool:
    """Return True if rows are at fault, so that other rows may be written."""
    number, state = _code(error)
    if number in _REFUSED_NUMBERS or state.startswith(_REFUSED_STATES):
        return True
    return any(kind.__name__ in _REFUSED_KINDS for kind in type(error).__mro__)


def is_changed_table(error: BaseException) -> bool:
    """Return True if a table has changed since the sink looked at it."""
    number, state = _code(error)
    text = str(error)
    return state in _CHANGED_STATES or number in _CHANGED_NUMBERS or any(t in text for t in _CHANGED_SQLITE)


def is_denied(error: BaseException) -> bool:
    """Return True if the user lacks a right."""
    number, state = _code(error)
    return state in _DENIED_STATES or number in _DENIED_NUMBERS


def _code(error: BaseException) -> tuple[int, str]:
    """Return MySQL's error number, or 0 without one, and the SQLSTATE, or an empty text without one."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    return number, str(getattr(error, "sqlstate", None) or "")
