"""Runs a process of the group that a history of BigQuery drives."""

from __future__ import annotations

from dataclasses import dataclass, field

from bigquery_history_log import Sent
from plain_bigquery_client import PlainClient

from connect.api.records import TopicPartition
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery.sink import BigQuerySinkTask


@dataclass
class Member:
    """One process of the group, and how far it has read; frozen ones are not of the group any more.

    known: the records that it was given.
    """

    number: int
    task: BigQuerySinkTask
    client: PlainClient
    context: FakeSinkContext
    mode: str
    reads: dict[TopicPartition, int] = field(default_factory=dict)
    known: dict[tuple[TopicPartition, int], Sent] = field(default_factory=dict)
    puts: set[tuple[TopicPartition, str]] = field(default_factory=set)

    def begin_anew(self, partition: TopicPartition) -> None:
        """As the worker does where a log has begun anew: the sink takes the partition as one that has just come."""
        if partition in self.reads:
            self.task.revoked([partition])
            self.task.assigned([partition])
            self.reads[partition] = 0
