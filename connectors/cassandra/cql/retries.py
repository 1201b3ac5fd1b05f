"""Asks another node when one does not answer, before a caller hears of it."""

from __future__ import annotations

from typing import Any, Final

from cassandra.policies import RetryPolicy

Decision = tuple[int, int | None]
_NEXT: Final[Decision] = (RetryPolicy.RETRY_NEXT_HOST, None)
_GIVE_UP: Final[Decision] = (RetryPolicy.RETHROW, None)


class NextNodeRetries(RetryPolicy):  # type: ignore[misc]  # the library has no types
    """Asks the next node of the data centre, with the same consistency level. For statements that may be sent twice.

    It ends with the last node: the driver asks each one once, all within the time of the one request.
    """

    def on_read_timeout(self, *args: Any, retry_num: int, **kwargs: Any) -> Decision:
        """Ask one other node, which may choose better replicas than the node that waited for one in vain.

        More are not asked: where the rows themselves are slow, each node would begin to read them anew.
        """
        del args, kwargs
        return _NEXT if retry_num == 0 else _GIVE_UP

    def on_write_timeout(self, *args: Any, **kwargs: Any) -> Decision:
        """Raise the time-out: the caller writes the row again."""
        del args, kwargs
        return _GIVE_UP

    def on_unavailable(self, *args: Any, **kwargs: Any) -> Decision:
        """Ask another node, as this one may take living replicas for dead."""
        del args, kwargs
        return _NEXT

    def on_request_error(self, *args: Any, **kwargs: Any) -> Decision:
        """Ask another node, as the connection broke, or the node is overloaded or starting."""
        del args, kwargs
        return _NEXT
