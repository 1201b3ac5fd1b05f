"""Keeps the objects of a trial in a separate folder, and reads their rows by other code than the sink's writers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final

from connect.lib.deadline import Deadline
from connectors.s3.formats.format_specs import FORMATS
from connectors.s3.settings.classes import FOLDER_STORAGES
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import format_settings_of
from connectors.s3.stores.clients import open_store
from connectors.s3.stores.store import Bucket

_BESIDE: Final = re.compile(r"\.(keys|headers)\.[a-z.]+$")
"""Matches the keys of objects with the keys or headers of records, which are not counted as rows."""


class TrialObjects:
    """Keeps a trial's objects in `<topics.dir>/_<name>`.

    Readers of tables ignore folders whose names begin with `_`.
    """

    merges = False

    def __init__(self, config: S3SinkConfig, name: str) -> None:
        self._config = config
        self._folder = config.directory_delim.join(part for part in (config.topics_dir, f"_{name}") if part)

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the settings that send objects to the trial's folder."""
        return {"topics.dir": self._folder}

    @property
    def is_once(self) -> bool:
        """Return True if objects are never replaced, and their folders do not depend on the time of writing."""
        config = self._config
        by_clock = config.is_time_partitioned and config.timestamp_extractor == "Wallclock"
        return config.conditional_writes and not by_clock

    def make(self, deadline: Deadline) -> None:
        """Do nothing, as a bucket has no folders to make."""

    def rows(self, deadline: Deadline) -> Iterator[bytes]:
        """Yield the rows of all objects with values, as bytes."""
        read = FORMATS[self._config.format_class].reader(format_settings_of(self._config))
        with closing(Bucket(self._config)) as bucket:
            for key in (key for key in self._keys(bucket, deadline) if not _BESIDE.search(key)):
                yield from read(bucket.content(key, deadline) or b"")

    def column_types(self, deadline: Deadline) -> Mapping[str, str]:
        """Return the types of columns as the newest file of each topic tells them; empty if files tell no types."""
        found: dict[str, str] = {}
        spec = FORMATS[self._config.format_class]
        if spec.names_types:
            with closing(Bucket(self._config)) as bucket:
                for key in (key for key in self._keys(bucket, deadline) if not _BESIDE.search(key)):
                    topic = key.removeprefix(self._folder).split(self._config.directory_delim)[1]
                    types = spec.column_types(bucket.content(key, deadline) or b"")
                    found |= {f"{topic}.{name}": kind for name, kind in types.items()}
        return found

    def remove(self, deadline: Deadline) -> None:
        """Delete all objects of the trial, and their folders if objects are files."""
        with closing(Bucket(self._config)) as bucket:
            bucket.delete(self._keys(bucket, deadline), deadline)
        if self._config.storage_class in FOLDER_STORAGES:
            open_store(self._config).remove_empty_folders(self._folder)

    def _keys(self, bucket: Bucket, deadline: Deadline) -> list[str]:
        start = self._folder + self._config.directory_delim
        found = bucket.objects(start.rpartition("/")[0], deadline)
        return [one.key for one in found if one.key.startswith(start)]
