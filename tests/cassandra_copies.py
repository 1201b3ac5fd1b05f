"""Runs three agents of Cassandra that send copies of the same changes, each at its own pace."""

from __future__ import annotations

import json
import random
import threading
from hashlib import blake2b
from typing import Self

from confluent_kafka import Producer


def event(number: int, node: str) -> dict[str, object]:
    """Return a change of the row with this number, as the agent of a node sends it."""
    cell = {"value": str(number), "writetime_us": number, "ttl_s": None, "local_deletion_s": None, "deleted": False}
    return {
        "op": "update", "writetime_us": number, "key": {"k": number % 50, "c": number}, "columns": {"v": cell},
        "liveness": None, "deletion": None, "range": None,
        "event_id": blake2b(str(number).encode(), digest_size=16).hexdigest(), "source": {"node": node},
    }  # fmt: skip


class Agents:
    """Stands for three agents that send the same changes, each at its own pace, until they are told to end."""

    def __init__(self, bootstrap_servers: str, topic: str, pause_s: float = 0.002) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 5})
        self._topic = topic
        self._pause_s = pause_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self.rows = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> int:
        """End the agents, and return how many changes there are."""
        self._ending.set()
        self._thread.join(60)
        return self.rows

    def _send(self) -> None:
        random_ = random.Random(3)
        late: list[tuple[int, str]] = []
        while not self._ending.wait(self._pause_s):
            number, self.rows = self.rows, self.rows + 1
            late += [(number, node) for node in ("a", "b", "c")]
            random_.shuffle(late)
            self._produce(late[60:])
            del late[60:]
        self._produce(late)
        self._producer.flush(30)

    def _produce(self, found: list[tuple[int, str]]) -> None:
        for number, node in found:
            self._producer.produce(self._topic, json.dumps(event(number, node)), json.dumps({"k": number % 50}))
            self._producer.poll(0)
