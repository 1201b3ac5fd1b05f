"""Holds what a running task tells of itself: its metrics, the topics it used, and what holds it up."""

from __future__ import annotations

from dataclasses import dataclass, field

from connect.runtime.task.condition import Conditions
from connect.runtime.task.task_metrics import TaskFigures
from connect.runtime.task.used_topics import UsedTopics


@dataclass(frozen=True, slots=True)
class TaskReports:
    """Holds what the task's thread fills and its host reports to the worker."""

    figures: TaskFigures = field(default_factory=TaskFigures)
    used_topics: UsedTopics = field(default_factory=UsedTopics)
    conditions: Conditions = field(default_factory=lambda: Conditions(lambda _: None))
