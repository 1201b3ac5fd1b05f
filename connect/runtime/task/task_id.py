"""A task is told from others by its connector and its number."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST_TASKS: Final = 100_000
"""A connector with more tasks than this is a mistake, or an attack: the plan alone would fill its host's memory."""


class TaskId(NamedTuple):
    """A task of a connector; its text is Java's ConnectorTaskId: `name-0`."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"
