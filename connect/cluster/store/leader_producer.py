"""Says how long a leader's transaction on the config topic may stay open.

All workers read committed records alone. So what a leader leaves open that dies or freezes amid a transaction hides all
later records from them, also the next leader's claim, until the brokers end the transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.kafka.client.settings import producer_settings

LEADER_TRANSACTION_MS: Final = 15_000
"""Brokers end a transaction within 10 s after this, by default: within the 30 s that a claim has to be read back."""
_KEY: Final = "transaction.timeout.ms"
_WAITS: Final = frozenset({"message.timeout.ms", "socket.timeout.ms"})


def leader_producer(
    worker: Mapping[str, str], client_id: str, transactional_id: str
) -> Mapping[str, str | int | float | bool]:
    """Return the settings of the producer of the leader's transactions; `worker` is the worker's file.

    A longer `transaction.timeout.ms` in the file is meant for the transactions of sources, which last longer.
    """
    given = worker.get(f"producer.{_KEY}", "").strip()
    timeout_ms = min(int(given), LEADER_TRANSACTION_MS) if given.isdecimal() else LEADER_TRANSACTION_MS
    overrides = {_KEY: str(timeout_ms)}
    settings = producer_settings(worker, overrides, client_id=client_id, transactional_id=transactional_id).properties
    # librdkafka makes no producer that may wait for longer than its transactions last.
    return {key: min(int(value), timeout_ms) if key in _WAITS else value for key, value in settings.items()}
