"""The settings of the file connectors. Names, defaults and messages are those of Kafka 4.1's file connectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from connect.api.config import ConnectorConfig, Int, String, key, non_empty
from connect.api.errors import ConfigProblem


class FileStreamSourceConfig(ConnectorConfig):
    """What the source reads, and where to."""

    file: String | None = key(
        "file",
        None,
        doc="The file to read; it may come to exist later. Without it standard input is read and no offset is kept.",
        importance="high",
        group="",
    )
    topic: Annotated[String, non_empty] = key("topic", doc="The topic the lines go to.", importance="high", group="")
    batch_size: Int = key(
        "batch.size",
        2000,
        doc="The maximum number of records the source task can read from the file each time it is polled",
        importance="low",
        group="",
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Exactly-once delivery is asked for where no offset is kept."""
        if not self.file and self.originals.get("exactly.once.support", "").strip().lower() == "required":
            yield ConfigProblem(
                "exactly.once.support",
                "The connector does not support exactly-once semantics with the provided configuration.",
            )


class FileStreamSinkConfig(ConnectorConfig):
    """Where the sink writes."""

    file: String | None = key(
        "file",
        None,
        doc="The file to append to; it is made when it does not exist. Without it standard output is written.",
        importance="high",
        group="",
    )
