"""Checks offsets of mode=log that a person gives. Pure: the server is asked only when the log is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from connect.api.errors import ConnectError
from connect.api.optional.given_offsets import OFFSET, PARTITION, Members
from connectors.jdbc.log.incremental.progress import progress_of
from connectors.jdbc.log.shared.position import partition_of
from connectors.jdbc.log.shared.session import resumed


def broken_members(prefix: str, read: Callable[[Mapping[str, Any]], object]) -> Callable[[Members, Members], Members]:
    """Return a function that takes a partition and its offset, and returns the wrong members, each with the reason.

    `read` reads an offset of this log, and raises an error for a wrong one.
    """
    own = partition_of(prefix)

    def judge(partition: Members, offset: Members) -> Members:
        if partition.get("server") != prefix:
            return {PARTITION: f"is not the log's, which is {own}"}
        if partition != own:
            return {}  # what is kept beside the place, in a form that nobody writes by hand
        try:
            resumed(offset, read)
            resumed(offset, progress_of)
        except ConnectError as error:
            return {OFFSET: f"is no place in the log ({error.__cause__})"}
        return {}

    return judge
