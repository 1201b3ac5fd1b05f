"""Decides which sources write in transactions, and when a transaction ends.

All of it is pure, except ConnectorTransactions, which keeps what a running connector asks for.

Source of the rules: KIP-618; org.apache.kafka.connect.runtime.ExactlyOnceWorkerSourceTask (Kafka 4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from connect.api.errors import ConfigError
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.worker_config import WorkerConfig

SUPPORT: Final = "exactly.once.support"
WORKER_SUPPORT: Final = "exactly.once.source.support"


def uses_transactions(worker: WorkerConfig, config: Mapping[str, str]) -> bool:
    """Tell if rows and offsets of this source connector go in one transaction.

    As in Kafka Connect every source does so where the worker's file says enabled. Where the file says nothing, only
    sources do so that require it. A placeholder in a raw configuration counts as required until it is resolved.
    """
    return transaction_rule(worker)(config)


def transaction_rule(worker: WorkerConfig) -> Callable[[Mapping[str, str]], bool]:
    """Return `uses_transactions` of one worker, whose file it reads once: the herder asks for each task each second."""
    if worker.originals.get(WORKER_SUPPORT, "").strip().lower() == "enabled":
        return lambda _: True
    return lambda config: config.get(SUPPORT, "").strip().lower() not in {"", "requested"}


def writes_in_transactions(worker: WorkerConfig, config: SourceConnectorConfig) -> bool:
    """Tell if a source task writes in transactions. Raise ConfigError if it must and the worker does not allow it."""
    wanted = uses_transactions(worker, config.originals)
    if wanted and worker.exactly_once_source_support.lower() != "enabled":
        raise ConfigError(
            "exactly.once.support=required needs exactly.once.source.support=enabled on the worker.",
            key="exactly.once.support",
            fix="Set it in the worker's configuration, or use exactly.once.support=requested.",
        )
    return wanted


def fences_leader(worker: WorkerConfig) -> bool:
    """Tell if the leader writes in transactions: if exactly.once.source.support is preparing or enabled."""
    return worker.originals.get(WORKER_SUPPORT, "").strip().lower() in {"preparing", "enabled"}


class Boundary(StrEnum):
    """Says what ends a transaction; the values are those of `transaction.boundary`."""

    POLL = "poll"
    INTERVAL = "interval"
    CONNECTOR = "connector"


class TransactionEnd(StrEnum):
    """Says how a connector wants its transaction to end."""

    COMMIT = "commit"
    ABORT = "abort"


class ConnectorTransactions:
    """Takes a connector's requests to end its transaction: it is the contract's `TransactionContext`.

    Owned by the task thread.
    """

    def __init__(self) -> None:
        self._requested_end: TransactionEnd | None = None

    def commit(self) -> None:
        """Ask to commit the transaction with this poll's batch. An abort that was asked for before is kept."""
        if self._requested_end is None:
            self._requested_end = TransactionEnd.COMMIT

    def abort(self) -> None:
        """Ask to abort the transaction, this poll's batch included."""
        self._requested_end = TransactionEnd.ABORT

    @property
    def requested_end(self) -> TransactionEnd | None:
        """Return the end that was asked for since the last `take`, or None."""
        return self._requested_end

    def take(self) -> TransactionEnd | None:
        """Return the end that was asked for, or None, and forget it."""
        end, self._requested_end = self._requested_end, None
        return end
