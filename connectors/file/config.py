"""The settings of the file connectors. Names, defaults and messages are those of Kafka 4.1's file connectors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from connect.api.config import ConnectorConfig, Int, ListOf, String, key, non_empty
from connect.api.errors import ConfigProblem
from connect.api.key_role import KeyRole


def path_problems(name: str, file: str | None, roots: tuple[str, ...]) -> Iterable[ConfigProblem]:
    """What is wrong with the path that the key `name` gives: the worker does not allow it."""
    if not file or not roots:
        return
    # Links count as where they lead: one in an allowed folder may lead out of it.
    real = Path(file).resolve()
    if not any(real.is_relative_to(Path(root).resolve()) for root in roots):
        yield ConfigProblem(
            name,
            f"Invalid value {file} for configuration {name}: this worker allows the files and folders of its "
            "file.stream.paths alone.",
        )


def paths_key() -> Any:
    """The leave that the worker gives."""
    doc = "Files, and folders with all in them, that the worker allows; none given: all."
    return key("file.stream.paths", (), doc=doc, group="", from_worker=True)


class FileStreamSourceConfig(ConnectorConfig):
    """What the source reads, and where to."""

    paths: ListOf = paths_key()
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
        role=KeyRole.PAGE_ROWS,
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """The worker does not allow the file, or exactly-once delivery is asked for where no offset is kept."""
        yield from path_problems("file", self.file, self.paths)
        if not self.file and self.originals.get("exactly.once.support", "").strip().lower() == "required":
            yield ConfigProblem(
                "exactly.once.support",
                "The connector does not support exactly-once semantics with the provided configuration.",
            )


class FileStreamSinkConfig(ConnectorConfig):
    """Where the sink writes."""

    paths: ListOf = paths_key()
    file: String | None = key(
        "file",
        None,
        doc="The file to append to; it is made when it does not exist. Without it standard output is written.",
        importance="high",
        group="",
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """The worker does not allow the file."""
        yield from path_problems("file", self.file, self.paths)
