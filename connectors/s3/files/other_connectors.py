"""Tells people where rows are left out because objects of another connector hold rows of their offsets. No I/O."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

from connect.api.records import TopicPartition
from connectors.s3.files.told_notes import ToldNotes

_log = logging.getLogger(__name__)
_CONNECTOR: Final = "kconnect-connector"
"""Names the metadata of an object that tells the connector which wrote it, escaped as in a URL."""
_BYTES_MAX: Final = 512
"""A longer name is not told, as S3 takes 2 KB of metadata."""


class OtherConnectors:
    """Compares the names of connectors that objects tell with that of this one. The task thread owns it.

    Two connectors with one folder have the same keys, so that an object holds the rows of one of them alone. A
    connector that was renamed goes on behind its former objects. Nothing tells the two cases apart but people.
    """

    def __init__(self, connector: str) -> None:
        self._name = connector
        self._notes = ToldNotes(_log)

    @property
    def notes(self) -> list[str]:
        """Return what was told so far."""
        return self._notes.texts

    @property
    def metadata(self) -> dict[str, str]:
        """Return what the metadata of this connector's objects tell of it."""
        name = quote(self._name)
        return {_CONNECTOR: name} if 0 < len(name) <= _BYTES_MAX else {}

    def compare(self, where: str, partition: TopicPartition, metadata: Mapping[str, str]) -> None:
        """Warn if another connector wrote the object `where`, once for each partition.

        Objects of earlier versions tell no name.
        """
        name = unquote(metadata.get(_CONNECTOR, quote(self._name)))
        if name == self._name:
            return
        rows = f"Rows of {partition.topic}-{partition.partition}"
        self._notes.tell(
            (partition, name),
            f"{rows} are not written, as connector {name[:200]!r} wrote rows of these offsets to {where}. "
            "That is right if this connector is that one with another name; else give it a topics.dir of its own.",
        )
