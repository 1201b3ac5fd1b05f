"""Declares the settings of the sink. It imports no driver and does no I/O."""

from __future__ import annotations

from typing import Annotated

from connect.api.config import Int, ListOf, String, between, key, non_empty, one_of
from connectors.cassandra.cql.connection_keys import ConnectionKeys

WRITE = "Writing"


class CassandraSinkConfig(ConnectionKeys):
    """Declares the settings that say how tables are written."""

    keyspace: Annotated[String, non_empty] = key(
        "keyspace", importance="high", group=WRITE, doc="The keyspace whose tables are written."
    )  # fmt: skip
    topic_tables: ListOf = key(
        "topic.tables", (), importance="high", group=WRITE,
        doc="topic:table pairs. The table of any other topic is named as the last part of the topic, behind its dots.",
    )  # fmt: skip
    nulls: Annotated[String, one_of("write", "skip")] = key(
        "nulls", "write", group=WRITE,
        doc="What a null, or a field that a row lacks, does to its column: write removes what was there, at the cost "
        "of a tombstone; skip leaves it.",
    )  # fmt: skip
    delete_times: Annotated[String, one_of("sending", "record")] = key(
        "delete.times", "sending", group=WRITE,
        doc="As of when a tombstone deletes its row: sending, the moment at which it is written, as rows are; record, "
        "the time of its record in Kafka, for topics whose rows tell when they were written (write.times).",
    )  # fmt: skip
    chunk_column: String = key(
        "chunk.column", "", group=WRITE,
        doc="A column of type text that every table has and that backfills fill with the chunk's name, by which they "
        "count the rows of each chunk.",
    )  # fmt: skip
    max_in_flight: Annotated[Int, between(1, 10_000)] = key(
        "max.in.flight", 128, group=WRITE, importance="low", doc="How many rows each task writes at a time."
    )  # fmt: skip

    def table_of(self, topic: str) -> str:
        """Return the name of the table that the rows of a topic go to."""
        pairs = dict(pair.rpartition(":")[::2] for pair in self.topic_tables)
        return pairs.get(topic) or topic.rpartition(".")[2]
