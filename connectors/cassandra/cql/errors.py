"""Defines the errors of reads that callers handle."""

from __future__ import annotations

from connect.api.errors import ConnectError, RetriableError


class TableGoneError(ConnectError):
    """Says that the server refused a statement because its table is gone or has changed."""


class TombstonesError(RetriableError):
    """Says that the replicas gave up a read because one page met more deleted rows than they allow."""


class MissingRightError(ConnectError):
    """Says that the user lacks a right. `grant` is the statement that gives it; empty if the server names no right."""

    def __init__(self, message: str, grant: str) -> None:
        super().__init__(message, key="username", fix=grant or "Grant the user SELECT on it.")
        self.grant = grant
