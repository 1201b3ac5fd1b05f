"""Asks another node when one does not answer, before a caller hears of it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from cassandra.policies import FallthroughRetryPolicy, RetryPolicy
from cassandra.protocol import IsBootstrappingErrorMessage, OverloadedErrorMessage
from cassandra.query import BoundStatement, PreparedStatement

from connect.api.errors import SchemaError

Decision = tuple[int, int | None]
_NEXT: Final[Decision] = (RetryPolicy.RETRY_NEXT_HOST, None)
_GIVE_UP: Final[Decision] = (RetryPolicy.RETHROW, None)
_UNSENT: Final = (struct.error, ValueError, TypeError, ArithmeticError, AttributeError)
"""The driver raises one of these for a value that has no form in the type of its column."""


class NextNodeRetries(RetryPolicy):  # type: ignore[misc]  # the library has no types
    """Asks the next node of the data centre with the same consistency level, for statements that may be sent twice.

    It ends with the last node: the driver asks each one once, all within the time-out of the one request.
    """

    def on_read_timeout(self, *args: Any, retry_num: int, **kwargs: Any) -> Decision:
        """Ask one more node, as it may choose better replicas than the node that waited for one in vain.

        No third node is asked: where the rows themselves are slow, each node would begin to read them anew.
        """
        del args, kwargs
        return _NEXT if retry_num == 0 else _GIVE_UP

    def on_write_timeout(self, *args: Any, **kwargs: Any) -> Decision:
        """Raise the time-out: the caller writes the row again."""
        del args, kwargs
        return _GIVE_UP

    def on_unavailable(self, *args: Any, **kwargs: Any) -> Decision:
        """Ask another node, as this one may believe that replicas are dead which live."""
        del args, kwargs
        return _NEXT

    def on_request_error(self, *args: Any, **kwargs: Any) -> Decision:
        """Ask another node, as the connection to this one broke, or it is overloaded or still starting."""
        del args, kwargs
        return _NEXT


class UnwrittenRetries(FallthroughRetryPolicy):  # type: ignore[misc]  # the library has no types
    """Asks the next node only where the one before it has said that it sent the statement to no replica."""

    def on_unavailable(self, *args: Any, **kwargs: Any) -> Decision:
        """Ask another node, as this one may believe that replicas are dead which live. It looks before it sends."""
        del args, kwargs
        return _NEXT

    def on_request_error(self, *args: Any, error: object, **kwargs: Any) -> Decision:
        """Ask another node if this one is overloaded or still starting; behind other errors it may have written."""
        del args, kwargs
        return _NEXT if isinstance(error, OverloadedErrorMessage | IsBootstrappingErrorMessage) else _GIVE_UP


def write_statement(prepared: PreparedStatement, values: Sequence[object], *, is_repeatable: bool) -> BoundStatement:
    """Return the statement that writes these values. SchemaError: the driver cannot send one of them.

    One that is not repeatable goes to another node only where the one before it has certainly written nothing.
    The caller hears of its other failures, and writes the row again with a later time.
    """
    try:
        bound = prepared.bind(tuple(values))
    except _UNSENT as error:
        raise SchemaError(f"It cannot be sent: {error}", field=_refused(prepared, values)) from error
    bound.is_idempotent = is_repeatable
    if not is_repeatable:
        bound.retry_policy = UnwrittenRetries()
    return bound


def _refused(prepared: PreparedStatement, values: Sequence[object]) -> str:
    """Return the name of the first column whose value the driver cannot send; empty if it is none."""
    for column, value in zip(prepared.column_metadata, values, strict=False):
        try:
            column.type.to_binary(value, prepared.protocol_version)
        except _UNSENT:
            return str(column.name)
    return ""
