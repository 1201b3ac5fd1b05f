"""What can be wrong with a read that its caller does something about."""

from __future__ import annotations

from connect.api.errors import ConnectError, RetriableError


class TableGoneError(ConnectError):
    """The server refuses a statement about a table: it is not there, or not as it was."""


class TombstonesError(RetriableError):
    """The replicas gave a read up, as they met more deleted rows than they may on one page."""


class MissingRightError(ConnectError):
    """The user lacks a right. `grant`: the statement that gives it; empty where the server does not say which."""

    def __init__(self, message: str, grant: str) -> None:
        super().__init__(message, key="username", fix=grant or "Grant the user SELECT on it.")
        self.grant = grant
