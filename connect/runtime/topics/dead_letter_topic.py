"""Makes a connector's dead-letter topic before its first letter, and refuses a topic that holds a cluster's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.runtime.settings.connector_config import CommonConnectorConfig
from connect.runtime.settings.topic_inspector import reserved_topics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId

_KEY: Final = "errors.deadletterqueue.topic.name"
_OVERRIDE: Final = "admin.override."
_MADE_S: Final = 30.0


def make_dead_letter_topic(
    worker: WorkerConfig, task: TaskId, config: CommonConnectorConfig, raw: Mapping[str, str]
) -> None:
    """Make the topic unless it exists. `raw` is the whole configuration, for its client settings.

    Raise ReservedTopicError if the topic holds a cluster's state, RetriableError when no broker answers.
    """
    topic = config.errors_dlq_topic
    reserved_topics(worker, raw).require_free(topic, _KEY)
    own = {key.removeprefix(_OVERRIDE): value for key, value in raw.items() if key.startswith(_OVERRIDE)}
    admin = TopicAdmin(admin_settings(worker.originals, own, f"connector-dlq-adminclient-{task}").properties)
    factor = config.errors_dlq_replication_factor
    admin.create(topic, partitions=1, replication_factor=factor, deadline=Deadline.after(_MADE_S))
