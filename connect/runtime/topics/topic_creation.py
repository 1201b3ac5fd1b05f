"""Makes a source task's missing topics before their first rows, as its `topic.creation.*` settings say."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from connect.api.errors import ConnectError, RetriableError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.errors import DeniedError
from connect.lib.deadline import Deadline
from connect.runtime.settings.topic_groups import PREFIX, TopicGroup, group_of

log = logging.getLogger(__name__)

TRY_S: Final = 30.0
"""After so many seconds of waiting for brokers the log says so."""


class Topics(Protocol):
    """Ensures that a topic exists before rows are sent to it."""

    def ensure(self, topic: str, deadline: Deadline) -> None:
        """Return once the topic exists, or at once if the brokers make it."""


class BrokersTopics:
    """Leaves missing topics to the brokers, which make them if they are set so. No `topic.creation.*` counts."""

    def ensure(self, topic: str, deadline: Deadline) -> None:
        """Do nothing: the brokers create topics, or refuse the rows."""


class CreatedTopics:
    """Makes the topics that are missing.

    Owned by the task thread. A topic that was seen or made once is not asked for again.
    """

    def __init__(self, groups: Sequence[TopicGroup], admin: Callable[[], TopicAdmin], task: str) -> None:
        self._groups = groups
        self._make_admin = admin
        self._admin: TopicAdmin | None = None
        self._task = task
        self._there: set[str] = set()

    def ensure(self, topic: str, deadline: Deadline) -> None:
        """Make the topic unless it exists; one that exists is left as it is.

        Wait for brokers that are away, and raise RetriableError when the deadline passes. Raise ConnectError if the
        brokers refuse.
        """
        if topic in self._there:
            return
        while True:
            try:
                self._ensure(topic, deadline.sooner(TRY_S))
            except RetriableError as error:
                if deadline.expired:
                    raise
                log.warning("%s waits to see whether topic %s is there: %s", self._task, topic, error)
            else:
                self._there.add(topic)
                return

    def _ensure(self, topic: str, deadline: Deadline) -> None:
        if self._admin is None:
            self._admin = self._make_admin()
        group = group_of(self._groups, topic)
        # A principal that may write to a topic need not have the right to create it, so the topic is looked for first.
        if self._admin.describe([topic], deadline):
            log.info("%s: topic %s is there; topic.creation settings do not change it.", self._task, topic)
            return
        try:
            made = self._admin.create(
                topic,
                partitions=group.partitions,
                replication_factor=group.replication_factor,
                configs=group.configs,
                deadline=deadline,
            )
        except RetriableError:
            raise
        except ConnectError as error:
            raise _not_created(topic, group, error) from error
        if made:
            log.info("%s: created topic %s with the settings of group %s.", self._task, topic, _shown(group))


def _not_created(topic: str, group: TopicGroup, error: ConnectError) -> ConnectError:
    if isinstance(error, DeniedError):
        return DeniedError(f"Task failed to create new topic {topic}. {error.message}", fix=error.fix)
    return ConnectError(
        f"Task failed to create new topic {topic} with the settings of topic creation group {_shown(group)}. "
        f"{error.message}",
        key=f"{PREFIX}groups",
        fix=f"Mend {PREFIX}{group.name}.*, or create the topic yourself; then restart the task.",
    )


def _shown(group: TopicGroup) -> str:
    settings = {"partitions": group.partitions, "replication.factor": group.replication_factor, **group.configs}
    return f"{group.name} ({', '.join(f'{k}={v}' for k, v in settings.items())})"
