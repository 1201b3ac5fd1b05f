"""Answers what a worker asks of a connector: its check, its plan of tasks, altered offsets, and its clean-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect.api.connector import AlteredOffsets, CleanupConnector, Connector, OffsetsConnector, ResumingConnector
from connect.api.errors import ConfigError, ConnectError
from connect.api.optional.costs import SamplingSink, TopicRates
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connect.plugins.extras import pip_line
from connect.runtime.task.messages import Call
from connect.runtime.task.task_id import MOST_TASKS
from connect.telemetry.secret_texts import SECRET_TEXTS


def answer_connector_call(
    connector: Connector,
    call: Call,
    resolved: Mapping[str, str],
    stored: Callable[[Deadline], Sequence[SourcePosition]],
    rates: TopicRates,
) -> Any:
    """Ask the connector and return its answer. Raise what it raises, and ConfigError if it plans too many tasks.

    `stored` returns the connector's stored offsets; `rates` samples how much comes into topics.
    """
    deadline = Deadline.after(call.timeout_s)
    match call.method:
        case "check":
            if isinstance(connector, SamplingSink):
                connector.sampling(rates)
            try:
                return [SECRET_TEXTS.shown(note) for note in connector.check(deadline) or ()]
            except ModuleNotFoundError as error:
                line = pip_line(error.name or "", type(connector).__module__)
                fix = f"Run: {line}" if line else "Install what the connector's package needs."
                raise ConnectError(f"The connector needs a package that is missing: {error}.", fix=fix) from error
        case "task_configs":
            if isinstance(connector, ResumingConnector):
                connector.resume(stored(deadline))
            configs = connector.task_configs(min(int(resolved.get("tasks.max", "1")), MOST_TASKS + 1))
            problem = too_many_tasks(resolved.get("name", ""), resolved, len(configs))
            if problem is not None:
                raise ConfigError(problem, key="tasks.max")
            return [dict(config) for config in configs]
        case "alter_offsets":
            positions = [SourcePosition(partition, offset) for partition, offset in call.positions]
            said = isinstance(connector, OffsetsConnector) and connector.alter_offsets(positions)
            answer = said if isinstance(said, AlteredOffsets) else AlteredOffsets(said)
            return [answer.is_whole, [SECRET_TEXTS.shown(note) for note in answer.notes]]
        case "clean_up":
            left = connector.clean_up(deadline) if isinstance(connector, CleanupConnector) else None
            return left and SECRET_TEXTS.shown(left)
        case _:
            raise ValueError(f"No connector is asked for {call.method}.")


def too_many_tasks(name: str, resolved: Mapping[str, str], count: int) -> str | None:
    """Return why `count` tasks are too many, or None if they are not. The text is Java's TooManyTasksException's."""
    if count > MOST_TASKS:
        return (
            f"The connector {name} has generated more than {MOST_TASKS} tasks: no worker runs so many. Lower tasks.max."
        )
    most = int(resolved.get("tasks.max", "1"))
    enforced = resolved.get("tasks.max.enforce", "true").strip().lower() != "false"
    if count <= most or not enforced:
        return None
    return (
        f"The connector {name} has generated {count} tasks, which is greater than {most}, the maximum number of tasks "
        "it is configured to create. Raise tasks.max, or set tasks.max.enforce to false."
    )
