"""Errors of reads that a caller does something about."""

from __future__ import annotations

from connect.api.errors import ConnectError, RetriableError


class TableGoneError(ConnectError):
    """The server refuses a statement about a table, which is gone or has changed."""


class TombstonesError(RetriableError):
    """The replicas gave up a read, as they met more deleted rows than they may on one page."""


class MissingRightError(ConnectError):
    """The user lacks a right. `grant` is the statement that gives it; empty where the server names no right."""

    def __init__(self, message: str, grant: str) -> None:
        super().__init__(message, key="username", fix=grant or "Grant the user SELECT on it.")
        self.grant = grant
