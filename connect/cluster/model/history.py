"""Holds values that describe changes in a cluster: of configurations, of states, and of the workers. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connect.cluster.model.statuses import Status


@dataclass(frozen=True, slots=True)
class Author:
    """Says who changed something, as the request says it (address and program), and when, in epoch milliseconds."""

    who: str
    changed_ms: int


@dataclass(frozen=True, slots=True, repr=False)
class ConfigVersion:
    """Holds a configuration that a connector had or has; `config` is raw.

    `author` is None if it was not written through the REST API of these workers.
    """

    version: int
    config: Mapping[str, str]
    author: Author | None = None


@dataclass(frozen=True, slots=True)
class StateChange:
    """Holds a change of state of a task, or of a connector (`task` None); `number` counts the changes of each."""

    number: int
    task: int | None
    status: Status
    changed_ms: int


@dataclass(frozen=True, slots=True)
class Rebalance:
    """Names the workers that were present after a rebalance, sorted, by `host:port`. `number` counts rebalances."""

    number: int
    generation: int
    leader: str
    workers: Sequence[str]
    changed_ms: int
