"""Carries out the changes that REST asks for: checks them, writes them to the config topic, and reads them back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Final

from connect.cluster.loop.herder_parts import HerderParts, connector_config
from connect.cluster.model.config_records import ConnectorRecord, LoggerRecord, RestartRecord
from connect.cluster.model.connector_values import Saved, TargetState
from connect.cluster.model.request_errors import (
    BadRequestError,
    ChangedMeanwhileError,
    ConflictError,
    NotFoundError,
    NotLeaderError,
)
from connect.cluster.model.restarts import as_restarting
from connect.cluster.model.statuses import ConnectorStatus
from connect.lib.deadline import Deadline
from connect.runtime.task.task_id import TaskId

TOPICS_TIMEOUT_S: Final = 30.0
_NAMED_KEYS: Final = 20
_TARGETS: Final = {
    TargetState.STARTED: "connector_resumed",
    TargetState.PAUSED: "connector_paused",
    TargetState.STOPPED: "connector_stopped",
}
_logger = logging.getLogger(__name__)


class Requests:
    """Carries out the changes that REST asks for. Owned by the herder's thread."""

    def __init__(self, parts: HerderParts, deleted: Callable[[str, Mapping[str, str]], None]) -> None:
        """`deleted` is told a connector's name and its last configuration, and returns at once."""
        self._parts = parts
        self._deleted = deleted
        self._reserved: set[str] = set()

    def create(
        self, name: str, config: Mapping[str, str], initial: TargetState | None, who: str, *, reserved: bool = False
    ) -> Saved:
        """Store a new connector. `reserved` is True if the caller has reserved the name before."""
        self.require_leader()
        self._check_free(name, reserved=reserved)
        self._check_size(name, config)
        self._parts.configs.put_connector(name, {**config, "name": name}, initial, who)
        _logger.info("connector_created", extra={"connector": name, "who": who})
        return Saved(created=True, info=self._parts.info(name))

    def reserve(self, name: str) -> None:
        """Reserve a name for a connector that is about to be created."""
        self.require_leader()
        self._check_free(name, reserved=False)
        self._reserved.add(name)

    def free(self, name: str) -> None:
        """Give up the reservation of a name."""
        self._reserved.discard(name)

    def save(
        self, name: str, config: Mapping[str, str], who: str, instead_of: Mapping[str, str] | None = None
    ) -> Saved:
        """Store a new or changed connector; its target state stays as it is.

        ChangedMeanwhileError: it has not the configuration `instead_of`, from which this one was computed.
        """
        self.require_leader()
        known = self._parts.configs.snapshot.connectors.get(name)
        if instead_of is not None and known != instead_of:
            raise ChangedMeanwhileError(_changed_text(name, instead_of, known))
        if known is None:
            self._check_free(name, reserved=False)
        new = {**config, "name": config.get("name", name)}
        self._check_size(name, new)
        if new != known:
            self._parts.configs.put_connector(name, new, who=who)
            _logger.info(
                "connector_created" if known is None else "connector_changed", extra={"connector": name, "who": who}
            )
        return Saved(created=known is None, info=self._parts.info(name))

    def delete(self, name: str) -> None:
        """Delete a connector."""
        self.require_leader()
        config = connector_config(self._parts.configs.snapshot, name)
        with self._noted_stopping(name):
            self._parts.configs.remove_connector(name)
        _logger.info("connector_deleted", extra={"connector": name})
        self._parts.statuses.forget(name)
        self._deleted(name, config)

    def set_target(self, name: str, target: TargetState) -> None:
        """Pause, resume or stop a connector."""
        self._require_contact()
        if name not in self._parts.configs.snapshot.connectors:
            raise NotFoundError(f"Unknown connector {name}")
        if target is TargetState.STOPPED:
            self.require_leader()
        with self._noted_stopping(name) if target is TargetState.STOPPED else nullcontext():
            self._parts.configs.put_target(name, target)
        _logger.info(_TARGETS[target], extra={"connector": name})

    @contextmanager
    def _noted_stopping(self, name: str) -> Iterator[None]:
        """Take note behind a write that it has tasks of other workers stop.

        A write that failed counts, too: it may have been taken, and only its answer is missing.
        """
        snapshot = self._parts.configs.snapshot
        elsewhere = self._parts.stopping.elsewhere(snapshot, (TaskId(name, n) for n in snapshot.tasks.get(name, {})))
        try:
            yield
        finally:
            if elsewhere:
                self._parts.stopping.note(name)

    def restart(self, request: RestartRecord) -> ConnectorStatus:
        """Ask all workers to restart what the request selects."""
        name = request.name
        if name not in self._parts.configs.snapshot.connectors:
            raise NotFoundError(f"Unknown connector: {name}")
        self.require_leader()
        self._parts.statuses.refresh()
        state = self._parts.statuses.connector(name)
        if state is None:
            raise NotFoundError(f"Status for connector {name} not found")
        kind = self._parts.catalog.kind(self._parts.configs.snapshot.connectors[name])
        status = ConnectorStatus(name, state, self._parts.statuses.tasks(name), kind)
        self._parts.configs.put(request)
        _logger.info(
            "connector_restarted",
            extra={"connector": name, "tasks": request.include_tasks, "failed": request.only_failed},
        )
        return as_restarting(status, request)

    def check_task(self, task: TaskId, *, owned: bool) -> None:
        """Refuse a restart of a task that does not exist or, if `owned`, that is not assigned to this worker."""
        snapshot = self._parts.configs.snapshot
        if task.connector not in snapshot.connectors:
            raise NotFoundError(f"Unknown connector: {task.connector}")
        if not snapshot.has_task(task):
            raise NotFoundError(f"Unknown task: {task}")
        if not owned:
            view = self._parts.membership.view
            slot = snapshot.placements.get(task)
            raise NotLeaderError(view.urls.get(view.owners.get(slot, "")) if slot is not None else None)

    def check_connector(self, name: str) -> None:
        """Refuse a restart of a connector that does not exist, or that another worker has to restart."""
        if name not in self._parts.configs.snapshot.connectors:
            raise NotFoundError(f"Unknown connector: {name}")
        self.require_leader()

    def reset_topics(self, name: str) -> None:
        """Forget the topics of a connector."""
        self._parts.statuses.reset_topics(name, Deadline.after(TOPICS_TIMEOUT_S))

    def set_log_level(self, logger: str, level: str) -> None:
        """Set a log level on every worker that is up."""
        self._parts.configs.put(LoggerRecord(logger, level))

    def _check_size(self, name: str, config: Mapping[str, str]) -> None:
        """Refuse a connector, before anything is written, if one of its records would not fit into a message."""
        size, most = self._parts.configs.size_bytes(ConnectorRecord(name, config)), self._parts.limits.config_max_bytes
        if size > most:
            raise BadRequestError(
                f"The configuration of connector {name} is {size} bytes as a record of the config topic, but at most "
                f"{most} can be written. Shorten it, or raise max.message.bytes of the topic and "
                "producer.max.request.size of the workers.",
            )

    def _check_free(self, name: str, *, reserved: bool) -> None:
        if name in self._parts.configs.snapshot.connectors or (name in self._reserved and not reserved):
            raise ConflictError(f"Connector {name} already exists")

    def require_leader(self) -> None:
        """Raise NotLeaderError unless this worker leads."""
        self._require_contact()
        view = self._parts.membership.view
        if not view.leads:
            raise NotLeaderError(view.leader_url)

    def _require_contact(self) -> None:
        """Raise NotLeaderError if Kafka has not heard this worker for long, as after a freeze.

        The request may be an old one then, and another worker may lead, of whose changes this one has not read yet.
        """
        if not self._parts.membership.may_work:
            raise NotLeaderError(None)


def _changed_text(name: str, before: Mapping[str, str], now: Mapping[str, str] | None) -> str:
    """Return the text of a change that came too late. It names keys alone, as a value may be a secret."""
    if now is None:
        return f"Connector {name} was deleted while its change was being validated. Nothing was written."
    keys = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    named = ", ".join(keys[:_NAMED_KEYS]) + (f" and {len(keys) - _NAMED_KEYS} more" if len(keys) > _NAMED_KEYS else "")
    return (
        f"Connector {name} was changed by another request while this change was being validated: keys {named}. "
        "Nothing was written. Read its configuration again and send the change anew."
    )
