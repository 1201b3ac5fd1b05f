"""What has changed in a cluster: configurations, states, and who works. Values only, no I/O."""

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

    No author: it was not written through REST here.
    """

    version: int
    config: Mapping[str, str]
    author: Author | None = None


@dataclass(frozen=True, slots=True)
class StateChange:
    """Holds a state that a connector (`task` None) or a task came into; `number` counts its changes."""

    number: int
    task: int | None
    status: Status
    changed_ms: int


@dataclass(frozen=True, slots=True)
class Rebalance:
    """Names the workers that were there after work was shared anew, sorted, by `host:port`.

    `number` counts rebalances.
    """

    number: int
    generation: int
    leader: str
    workers: Sequence[str]
    changed_ms: int
