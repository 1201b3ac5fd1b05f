"""Declares the settings of the deduplicating connector. It imports no driver and does no I/O."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import model_validator

from connect.api.config import Boolean, ConnectorConfig, Int, ListOf, Long, String, at_least, between, key, non_empty
from connect.api.errors import ConfigError

COPIES = "Copies"
_DAY_MS = 86_400_000


class CassandraDedupConfig(ConnectorConfig):
    """Declares the settings for sending one event in place of its copies."""

    topics: Annotated[ListOf, non_empty] = key(
        "topics", importance="high", group=COPIES, doc="The topics that the agents write."
    )  # fmt: skip
    input_prefix: String = key(
        "input.prefix", "", importance="high", group=COPIES,
        doc="How these topics' names begin, which the names of the topics to write do not.",
    )  # fmt: skip
    topic_prefix: String = key(
        "topic.prefix", "", importance="high", group=COPIES, doc="How the names of the topics to write begin."
    )  # fmt: skip
    merge_cells: Boolean = key(
        "merge.cells", False, importance="high", group=COPIES,
        doc="Remember the newest write of every cell, and pass on what is newer alone. It costs an entry of the state "
        "topic per row; without it a copy that comes in another form, or late, comes again.",
    )  # fmt: skip
    copies_required: Annotated[Int, between(1, 1000)] = key(
        "copies.required", 1, group=COPIES,
        doc="How many nodes must have sent an event before it counts: 2 is a majority of three replicas.",
    )  # fmt: skip
    copies_wait_ms: Annotated[Long, at_least(0)] = key(
        "copies.wait.ms", 60_000, group=COPIES,
        doc="How long copies are waited for. Then the event is sent with the header `cassandra.unconfirmed`.",
    )  # fmt: skip
    remember_ids: Annotated[Int, between(1000, 100_000_000)] = key(
        "remember.ids", 200_000, group=COPIES, importance="low",
        doc="How many events of each partition of a topic are known by their ids. About 150 bytes of memory each.",
    )  # fmt: skip
    state_topic: String = key(
        "state.topic", "", group=COPIES, importance="low",
        doc="The compacted topic of what is remembered. Empty: the connector's name and -state.",
    )  # fmt: skip
    deletes_retention_ms: Annotated[Long, at_least(1)] = key(
        "deletes.retention.ms", 20 * _DAY_MS, group=COPIES, importance="low",
        doc="How long what is deleted or has expired is remembered; longer than any copy may be late, as "
        "gc_grace_seconds says.",
    )  # fmt: skip

    @model_validator(mode="after")
    def _check_topics(self) -> Self:
        problems = [topic for topic in self.topics if not topic.startswith(self.input_prefix)]
        if problems:
            raise ConfigError(
                f"The topics {', '.join(problems)} do not begin with input.prefix={self.input_prefix}.",
                key="input.prefix",
            )
        if self.input_prefix == self.topic_prefix:
            raise ConfigError(
                "The topics to write would be those that are read.",
                key="topic.prefix",
                fix="Give the agents a topic.prefix such as raw., and name it as input.prefix here.",
            )
        return self

    def output_of(self, topic: str) -> str:
        """Return the topic that the events of an input topic go to."""
        return f"{self.topic_prefix}{topic.removeprefix(self.input_prefix)}"


class CassandraDedupTaskConfig(CassandraDedupConfig):
    """Declares the settings of a task, which reads every `share.of`-th partition of each topic from `share` on."""

    share: Annotated[Int, between(0, 2**31 - 1)] = key("share", doc="The task's share.", internal=True)
    share_of: Annotated[Int, between(1, 2**31 - 1)] = key("share.of", doc="The number of shares.", internal=True)
