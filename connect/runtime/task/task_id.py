"""A task is told from others by its connector and its number."""

from __future__ import annotations

from typing import NamedTuple


class TaskId(NamedTuple):
    """A task of a connector; its text is Java's ConnectorTaskId: `name-0`."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"
