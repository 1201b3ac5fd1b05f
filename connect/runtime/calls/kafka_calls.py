"""Reads and writes a source's offsets, and fences its former tasks, with the connector's own client settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from typing import Any, Final

from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connect.runtime.parts.clients import Clients
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.source.exactly_once import writes_in_transactions
from connect.runtime.task.messages import Call, Method
from connect.runtime.task.task_id import TaskId

KAFKA_CALLS: Final[frozenset[Method]] = frozenset({"read_offsets", "write_offsets", "fence"})
_FENCE_THREADS: Final = 8


def answer_kafka_call(clients: Clients, call: Call, resolved: Mapping[str, str]) -> Any:
    """Carry out one of KAFKA_CALLS and return its value. Kafka's errors pass through."""
    config = SourceConnectorConfig.parse(resolved)
    name, deadline = resolved["name"], Deadline.after(call.timeout_s)
    if call.method == "fence":
        return fence(clients, name, resolved, call.count, deadline)
    if call.method == "write_offsets":
        positions = [SourcePosition(partition, offset) for partition, offset in call.positions]
        return write_offsets(clients, name, config, positions, deadline)
    return [(position.partition, position.offset) for position in stored_of(clients, resolved, deadline)]


def stored_of(clients: Clients, resolved: Mapping[str, str], deadline: Deadline) -> Sequence[SourcePosition]:
    """Return all stored positions of a source."""
    name, config = resolved["name"], SourceConnectorConfig.parse(resolved)
    with ExitStack() as stack:
        return clients.offsets.of_connector(name, name, config, stack, deadline).positions()


def fence(clients: Clients, name: str, resolved: Mapping[str, str], tasks: int, deadline: Deadline) -> None:
    """Fence the producers of tasks 0 to `tasks` - 1: their open transactions are aborted, their later writes fail."""
    ids = [TaskId(name, number) for number in range(tasks)]
    with ThreadPoolExecutor(_FENCE_THREADS, thread_name_prefix="fence") as threads:
        fenced = [threads.submit(_take_over, clients, task, resolved, deadline) for task in ids]
        wait(fenced)
    for one in fenced:
        one.result()


def write_offsets(
    clients: Clients,
    name: str,
    config: SourceConnectorConfig,
    positions: Sequence[SourcePosition],
    deadline: Deadline,
) -> None:
    """Store offsets as the connector's tasks do. An exactly-once source uses the transactional id of its task 0."""
    with ExitStack() as stack:
        producer = None
        if writes_in_transactions(clients.worker, config):
            producer = clients.producers.transactional(TaskId(name, 0), config.originals)
            stack.callback(producer.close)
            producer.init_transactions(deadline)
        offsets = clients.offsets.of_connector(name, name, config, stack, deadline)
        if producer is None:
            offsets.store(positions, deadline)
        elif positions:
            offsets.forget_copies(positions, deadline)
            producer.begin()
            producer.send(offsets.batch(positions), deadline)
            producer.commit(deadline)
            # The copies are waited for only so that the process does not end before they are sent.
            wait(offsets.copy(positions), timeout=deadline.remaining_s)


def _take_over(clients: Clients, task: TaskId, resolved: Mapping[str, str], deadline: Deadline) -> None:
    with closing(clients.producers.transactional(task, resolved)) as producer:
        producer.init_transactions(deadline)
