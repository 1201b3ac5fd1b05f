"""Why a request to a cluster cannot be done, in Kafka Connect's own wording. REST knows the HTTP status of each."""

from __future__ import annotations


class RequestError(Exception):
    """A request cannot be done; the kinds below say why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadRequestError(RequestError):
    """The request itself is wrong."""


class NotFoundError(RequestError):
    """The thing named does not exist."""


class ConflictError(RequestError):
    """Something else is there or going on that the request does not go together with."""


class NotLeaderError(ConflictError):
    """Only the leader may do this. `leader_url` is where to send the request; None while nobody leads."""

    def __init__(self, leader_url: str | None) -> None:
        super().__init__("Cannot complete request because of a conflicting operation (e.g. worker rebalance)")
        self.leader_url = leader_url


class FailedRequestError(RequestError):
    """The request was right and could not be carried out."""
