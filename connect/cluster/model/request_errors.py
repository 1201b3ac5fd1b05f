"""Holds the errors of requests to a cluster, with the texts of Kafka Connect. REST knows the HTTP status of each."""

from __future__ import annotations


class RequestError(Exception):
    """Raised if a request cannot be carried out; the classes below say why."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadRequestError(RequestError):
    """Raised if the request itself is wrong."""


class NotFoundError(RequestError):
    """Raised if the connector, task or other thing that the request names does not exist."""


class ConflictError(RequestError):
    """Raised if the request conflicts with something that exists or is under way."""


class ChangedMeanwhileError(ConflictError):
    """Raised if a change was computed from a configuration that is no longer the connector's; nothing was written."""


class NotLeaderError(ConflictError):
    """Raised if only the leader may do this. The request may be sent to `leader_url`; None while nobody leads."""

    def __init__(self, leader_url: str | None) -> None:
        super().__init__("Cannot complete request because of a conflicting operation (e.g. worker rebalance)")
        self.leader_url = leader_url


class UnavailableError(ConflictError):
    """Raised if this worker cannot carry the request out now, as it ends or is out of its group.

    Nothing is wrong with the request: it may be sent again, to this worker later or to another one now.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason.rstrip('.')}. Send the request again, or to another worker.")


class FailedRequestError(RequestError):
    """Raised if the request was right and could not be carried out."""
