"""Declares the settings of Kafka's VerifiableSourceConnector and SchemaSourceConnector. Values only.

Source of names and rows: the classes of org.apache.kafka.connect.tools. Their JSON lines on stdout are not written.
"""

from __future__ import annotations

from typing import Annotated

from connect.api.config import Boolean, ConnectorConfig, Int, Long, String, at_least, key, non_empty


class NumberedConfig(ConnectorConfig):
    """Says where numbered rows go, and how fast."""

    topic: Annotated[String, non_empty] = key("topic", doc="The topic of the rows.", importance="high", group="Rows")
    throughput: Long = key(
        "throughput", doc="Rows a second of each task; below 0: as fast as Kafka takes them; 0: none.",
        importance="high", group="Rows",
    )  # fmt: skip

    @property
    def most_rows(self) -> int | None:
        """Return how many rows a task makes after each of its starts; None: there is no end."""
        return None


class VerifiableSourceConfig(NumberedConfig):
    """Says whether rows tell more than their number."""

    whole: Boolean = key(
        "complete.record.data", False, importance="low", group="Rows",
        doc="Whether a row tells connector, task, topic and time beside its number.",
    )  # fmt: skip


class SchemaSourceConfig(NumberedConfig):
    """Says how many rows there are, and of which schemas."""

    messages: Annotated[Long, at_least(0)] = key(
        "num.messages", doc="Rows of each task after each of its starts.", importance="high", group="Rows"
    )
    several_schemas: Boolean = key(
        "multiple.schema", False, doc="Whether every other row has a second version of the schema.", group="Rows"
    )
    partitions: Annotated[Int, at_least(1)] = key(
        "partition.count", 1, doc="The field `partitioning` counts up to this.", group="Rows",
        harmless="a number",
    )  # fmt: skip

    @property
    def most_rows(self) -> int | None:
        """Return num.messages."""
        return self.messages
