"""The HTTP status of each error: those that a cluster raises, and those of REST's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.cluster.model.request_errors import (
    BadRequestError,
    ConflictError,
    FailedRequestError,
    NotFoundError,
    RequestError,
)

_STATUSES: Final[Mapping[type[RequestError], int]] = {
    BadRequestError: 400,
    NotFoundError: 404,
    ConflictError: 409,
    FailedRequestError: 500,
}


class HttpError(RequestError):
    """A request cannot be done, and REST itself says so with a status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def status_of(error: RequestError) -> int:
    """Return the HTTP status of an answer that says this error."""
    if isinstance(error, HttpError):
        return error.status
    return next(status for kind, status in _STATUSES.items() if isinstance(error, kind))
