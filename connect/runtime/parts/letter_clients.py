"""Makes what writes the dead letters of tasks, and makes their topic where it is missing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from connect.api.codec import HeaderConverter
from connect.kafka.client.settings import consumer_settings
from connect.kafka.consume.log_reader import read_record
from connect.kafka.produce.pooled_producer import RowProducer
from connect.runtime.parts.connector_overrides import overrides
from connect.runtime.parts.task_producers import TaskProducers
from connect.runtime.records.dead_letter import DeadLetters
from connect.runtime.records.record_sizes import RecordSizes
from connect.runtime.records.source_letters import SourceDeadLetters
from connect.runtime.settings.connector_config import SinkConnectorConfig, SourceConnectorConfig
from connect.runtime.settings.loop_limits import flush_timeout_s
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.offset_topics import without_group
from connect.runtime.task.task_id import TaskId
from connect.runtime.topics.dead_letter_topic import make_dead_letter_topic


class LetterClients:
    """Makes the writers of dead letters, and their topics. Called from task threads."""

    def __init__(self, worker: WorkerConfig, producers: TaskProducers) -> None:
        self._worker = worker
        self._producers = producers

    def of_sink(
        self, task: TaskId, config: SinkConnectorConfig, raw: Mapping[str, str], producer: RowProducer | None = None
    ) -> DeadLetters | None:
        """Make the dead-letter topic and return what writes letters into it; None where no such topic is set.

        `producer` None: the letters get a producer of their own.
        """
        if not config.errors_dlq_topic:
            return None
        make_dead_letter_topic(self._worker, task, config, raw)
        reading = consumer_settings(
            self._worker.originals,
            without_group(overrides(raw, "consumer.override.")),
            client_id=f"connector-dlq-consumer-{task}",
        )
        return DeadLetters(
            producer or self._producers.rows(task, raw, f"connector-dlq-producer-{task}"),
            config.errors_dlq_topic,
            task,
            context_headers=config.errors_dlq_headers,
            timeout_s=flush_timeout_s(self._worker),
            read_again=partial(read_record, reading.properties),
        )

    def of_source(
        self,
        task: TaskId,
        config: SourceConnectorConfig,
        raw: Mapping[str, str],
        headers: HeaderConverter,
        sizes: RecordSizes,
    ) -> SourceDeadLetters | None:
        """Make the dead-letter topic and return what makes a source's letters; None where no such topic is set."""
        if not config.errors_dlq_topic:
            return None
        make_dead_letter_topic(self._worker, task, config, raw)
        return SourceDeadLetters(
            config.errors_dlq_topic, task, headers, context_headers=config.errors_dlq_headers, sizes=sizes
        )
