"""Declares the settings of the file connectors.

Names, defaults and messages are those of Kafka 4.1's file connectors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from connect.api.config import ConnectorConfig, Int, ListOf, String, key, non_empty
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.lib.key_role import KeyRole


def paths_key() -> Any:
    """Return the key of the files that the worker allows these connectors beside those of its allowed.paths."""
    doc = "Files, and folders with all in them, that the worker allows beside those of allowed.paths."
    return key("file.stream.paths", (), reach=Reach.FILE, doc=doc, group="", from_worker=True)


class FileStreamSourceConfig(ConnectorConfig):
    """Declares which file the source reads, and into which topic."""

    paths: ListOf = paths_key()
    file: String | None = key(
        "file",
        None,
        reach=Reach.FILE,
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
        role=KeyRole.PAGE_ROWS,
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield a problem if exactly-once delivery is required for standard input, of which no offset is kept."""
        if not self.file and self.originals.get("exactly.once.support", "").strip().lower() == "required":
            yield ConfigProblem(
                "exactly.once.support",
                "The connector does not support exactly-once semantics with the provided configuration.",
            )


class FileStreamSinkConfig(ConnectorConfig):
    """Declares the only setting of the sink: the file."""

    paths: ListOf = paths_key()
    file: String | None = key(
        "file",
        None,
        reach=Reach.FILE,
        doc="The file to append to; it is made when it does not exist. Without it standard output is written.",
        importance="high",
        group="",
    )
