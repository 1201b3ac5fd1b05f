"""Maps the errors of a cluster and those of REST itself to HTTP statuses."""

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
    """Raised by REST itself if a request cannot be carried out; it has the HTTP status of the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def status_of(error: RequestError) -> int:
    """Return the HTTP status of the answer to this error."""
    if isinstance(error, HttpError):
        return error.status
    return next(status for kind, status in _STATUSES.items() if isinstance(error, kind))
