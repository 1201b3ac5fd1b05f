"""Replays the letters of a topic as a worker would: by its connectors, its producer and its reserved topics."""

from __future__ import annotations

from collections.abc import Callable

from connect.api.errors import ConfigError, ConnectError
from connect.dlq.current_pipelines import CurrentPipelines
from connect.dlq.letters import LetterTopic
from connect.dlq.replay import Connectors, FixedTopic, Outcome, Replay, transactional_id
from connect.dlq.selection import Selection
from connect.kafka.client.errors import FencedError
from connect.kafka.client.settings import producer_settings
from connect.kafka.produce.producer import BatchProducer
from connect.lib.deadline import Deadline
from connect.lib.printable import counted
from connect.plugins.catalog import Catalog
from connect.runtime.settings.topic_inspector import reserved_topics
from connect.runtime.settings.worker_config import WorkerConfig


class ReplayConflictError(ConnectError):
    """Says that another replay of the same topic was started; this one has written nothing since."""


def run_replay(
    worker: WorkerConfig,
    topic: LetterTopic,
    selection: Selection,
    deadline: Deadline,
    *,
    to: str | None = None,
    is_trial: bool = False,
    hear: Callable[[Outcome], None] = lambda _: None,
) -> Outcome:
    """Return what became of the selected letters, or with `is_trial` what would become of them.

    `to` is a topic that takes all letters as they are; None: each goes where its connector sends it. `hear` is called
    after each transaction. ReplayConflictError: another replay of this topic was started. ConfigError: `to` is a topic
    of the letters.
    """
    if to in {topic.name, topic.marks_topic}:
        raise ConfigError(
            f"--to {to} is a topic of the letters themselves, and each would become one more letter or mark.",
            key="--to",
            fix="Name a topic that is read by a connector or a program of yours.",
        )
    connectors: Connectors = FixedTopic(to) if to is not None else CurrentPipelines(worker, Catalog.installed())
    work = Replay(topic, selection, connectors, reserved_topics(worker, {"name": "dlq-replay"}))
    if is_trial:
        return work.dry_run(deadline)
    settings = producer_settings(
        worker.originals, {}, client_id="connect-dlq-replay", transactional_id=transactional_id(topic.name)
    )
    producer = BatchProducer(settings.properties)
    try:
        return work.run(producer, deadline, hear)
    except FencedError as error:
        raise ReplayConflictError(
            f"Another replay of dead-letter topic {topic.name} was started, and took over from this one, which had "
            f"replayed {counted(work.outcome.replayed, 'letter')}.",
            fix="Wait until it has ended, and replay once more: what was replayed is left out.",
        ) from error
    finally:
        producer.close()
