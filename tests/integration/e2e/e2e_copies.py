"""Reduces copies of changes from three agents of Cassandra to one event each, over three brokers, with two workers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from cassandra_copies import Agents
from committed_ids import CommittedIds
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_brokers import ThreeBrokers
from e2e_flow import WAIT_S, Flow
from e2e_secured import Right
from e2e_worker import JSON, WorkerProcess, wait_for

_PARTITIONS = 2
_ROWS_PER_S = 100


def _number_of(value: bytes) -> int:
    change: int = json.loads(value)["writetime_us"]
    return change + 1


class CopiesFlow(Flow):
    """Holds the agents' topic, the connector that remembers each cell, and the topic of the events."""

    rows_per_s = _ROWS_PER_S
    lost = (("copies read",), ("rows written",), ("state written",), ("transactions",))

    def __init__(self, brokers: ThreeBrokers, folder: Path, name: str) -> None:
        self.dedup, self._raw, self.topic = f"{name}-dedup", f"{name}-raw.t", f"{name}-once.t"
        self.connectors = (self.dedup,)
        self.writer: Agents
        agents = Agents(brokers.bootstrap_servers, self._raw, 1 / _ROWS_PER_S)
        admin = AdminClient({"bootstrap.servers": brokers.bootstrap_servers, "log_level": 0})
        for made in admin.create_topics([NewTopic(one, _PARTITIONS, 3) for one in (self._raw, self.topic)]).values():
            made.result(60)
        super().__init__(brokers, folder, name, agents, WorkerProcess)
        self._ids = CommittedIds(brokers.bootstrap_servers, self.topic, _PARTITIONS, _number_of)

    def begin(self) -> None:
        """Do as `Flow` says."""
        config = {
            "connector.class": "connect.cassandra.CassandraDedupConnector", "tasks.max": "1", "topics": self._raw,
            "input.prefix": f"{self.name}-raw.", "topic.prefix": f"{self.name}-once.", "merge.cells": "true",
            "exactly.once.support": "required",
            **{f"{side}.converter": JSON for side in ("key", "value")},
            **{f"{side}.converter.schemas.enable": "false" for side in ("key", "value")},
        }  # fmt: skip
        self.create(self.dedup, config)
        wait_for(self.newest, WAIT_S, self.standstill)

    def newest(self) -> int:
        """Do as `Flow` says."""
        return max(self._ids.read(), default=0)

    def arrived(self) -> list[int]:
        """Do as `Flow` says."""
        return self._ids.read()

    def coordinators(self) -> Mapping[str, Callable[[], int]]:
        """Do as `Flow` says."""
        return {
            "transactions": lambda: self.brokers.transaction_coordinator_of(f"{self.name}-{self.dedup}-0"),
            "copies": lambda: self.brokers.leader_of(self._raw),
        }

    def own_rights(self) -> Mapping[str, tuple[Right, str]]:
        """Do as `Flow` says."""
        state = f"{self.dedup}-state"
        wanted = {
            "copies read": Right("TOPIC", self._raw, "READ"),
            "rows written": Right("TOPIC", self.topic, "WRITE"),
            "state written": Right("TOPIC", state, "WRITE"),
            "state read": Right("TOPIC", state, "READ"),
            "state made": Right("TOPIC", state, "CREATE"),
            "state's settings read": Right("TOPIC", state, "DESCRIBE_CONFIGS"),
            "transactions": Right("TRANSACTIONAL_ID", f"{self.name}-{self.dedup}-0", "WRITE"),
        }
        return {purpose: (right, self.dedup) for purpose, right in wanted.items()}

    def stop(self) -> None:
        """Do as `Flow` says."""
        super().stop()
        self._ids.close()
