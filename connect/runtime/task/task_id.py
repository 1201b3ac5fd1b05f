"""Identifies a task by its connector and its number."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST_TASKS: Final = 100_000
"""More tasks of a connector are a mistake or an attack: their plan alone would fill its host's memory."""


class TaskId(NamedTuple):
    """Identifies a task of a connector. Its text is that of Java's ConnectorTaskId: `name-0`."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"
