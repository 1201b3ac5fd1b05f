"""Rewrites configurations that are not sealed by the worker's first key, after a key was set, changed or removed.

The leader does so once, when it begins to lead. Readers apply records in their order. So when a connector is written
anew, its tasks and their commit record are written anew after it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import NamedTuple

from connect.api.errors import ConnectError, RetriableError
from connect.cluster.model.config_records import (
    CommitRecord,
    ConfigHistoryRecord,
    ConfigRecord,
    ConnectorRecord,
    FencingRecord,
    TaskRecord,
    parse_task_id,
)
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.store.config_store import ConfigStore
from connect.runtime.task.task_id import TaskId

_logger = logging.getLogger(__name__)


class Resealed(NamedTuple):
    """Holds records in two groups. `then` is written after all of `first` is written."""

    first: list[ConfigRecord]
    then: list[ConfigRecord]


def reseal(configs: ConfigStore, most_bytes: int) -> None:
    """Rewrite the records that the first key of the worker's file does not seal. RetriableError: it may be possible
    later. ConnectError: another worker leads.

    A connector of which a record is larger than `most_bytes` when it is sealed stays as it is.
    """
    outdated, kept = configs.outdated(), 0
    for name, keys in outdated.items():
        if not name and configs.snapshot.session_key is not None:
            configs.put(configs.snapshot.session_key)
        elif name not in configs.closed:
            try:
                _reseal(configs, name, keys, most_bytes)
            except ConnectError as error:
                if isinstance(error, RetriableError) or configs.lost_claim:
                    raise
                kept += 1
                failed = {"connector": name, "error": str(error)}
                _logger.error("configuration_not_sealed_anew", extra=failed)  # noqa: TRY400 - the text says what to do
    if outdated:
        told = {"connectors": len([name for name in outdated if name]) - kept, "sealed_by": configs.sealed_by}
        _logger.info("configurations_sealed_anew", extra=told)


def _reseal(configs: ConfigStore, name: str, keys: Iterable[bytes], most_bytes: int) -> None:
    lots = resealed(name, configs.snapshot, keys)
    largest_bytes = max((configs.size_bytes(record) for record in (*lots.first, *lots.then)), default=0)
    if largest_bytes > most_bytes:
        # Some of its records would be written, and its tasks lack the commit behind them.
        raise ConnectError(
            f"A record of connector {name} has {largest_bytes} bytes when it is sealed, and at most {most_bytes} fit "
            "into a message.",
            fix="Make the configuration smaller, or raise producer.max.request.size of the worker.",
        )
    configs.put(*lots.first)
    configs.put(*lots.then)


def resealed(name: str, snapshot: ConfigSnapshot, outdated: Iterable[bytes]) -> Resealed:
    """Return the records to rewrite for a connector. `outdated` are the keys of records in another form. Pure."""
    config, tasks = snapshot.connectors.get(name), snapshot.tasks.get(name, {})
    first: list[ConfigRecord] = [
        ConfigHistoryRecord(name, number, version) for number, version in snapshot.history.get(name, {}).items()
    ]
    then: list[ConfigRecord] = []
    if config is not None:
        first.append(ConnectorRecord(name, config))
    # Tasks of an older configuration are not committed here, as the leader will publish others soon.
    if config is not None and snapshot.applied.get(name) == config:
        first += [TaskRecord(TaskId(name, number), properties) for number, properties in tasks.items()]
        then.append(CommitRecord(name, len(tasks)))
        if name not in snapshot.unfenced and name in snapshot.fenced_tasks:
            then.append(FencingRecord(name, snapshot.fenced_tasks[name]))
    first += [TaskRecord(task, None) for task in _left_over(name, outdated) if task.task not in tasks]
    return Resealed(first, then)


def _left_over(name: str, outdated: Iterable[bytes]) -> Iterable[TaskId]:
    """Yield the tasks of these keys. Some may no longer exist, or their connector may have been deleted."""
    for key in outdated:
        text = key.decode()
        if text.startswith("task-"):
            task = parse_task_id(text.removeprefix("task-"))
            if task.connector == name:
                yield task
