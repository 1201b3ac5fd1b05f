"""Makes a connector's dead-letter topic before its first letter, and refuses a topic that holds a cluster's state.

A letter has the timestamp of its record, which may be years old. With the brokers' default retention, 7 days of these
timestamps, Kafka would delete it within minutes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Final

from connect.api.errors import ConnectError, RetriableError
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline
from connect.runtime.settings.connector_config import CommonConnectorConfig
from connect.runtime.settings.topic_inspector import reserved_topics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId

log = logging.getLogger(__name__)

_KEY: Final = "errors.deadletterqueue.topic.name"
_OVERRIDE: Final = "admin.override."
_MADE_S: Final = 30.0
_FOR_EVER: Final = {"retention.ms": "-1"}


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
    deadline = Deadline.after(_MADE_S)
    make = partial(admin.create, topic, partitions=1, replication_factor=factor, deadline=deadline)
    try:
        make(configs=_FOR_EVER)
    except RetriableError:
        raise
    except ConnectError as refusal:
        make()  # where this is refused, too, its error tells more
        log.warning("Topic %s was made with the brokers' retention, as they refused %s: %s", topic, _FOR_EVER, refusal)
