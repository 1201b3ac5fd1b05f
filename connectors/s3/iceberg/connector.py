"""Holds the S3 sink's connector for `table.format=iceberg`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from connect.api.optional.compaction import CompactedFiles, Compaction, FileGroup
from connect.lib.deadline import Deadline
from connectors.s3.iceberg.catalog import catalog_errors, load, require_reachable
from connectors.s3.iceberg.compaction import groups, rewritten
from connectors.s3.iceberg.sink import IcebergSinkTask
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.stores.store import Bucket

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table


class IcebergSinkConnector:
    """Makes the tasks of one sink. All have the same settings, and Kafka shares the partitions out among them."""

    def __init__(self, config: S3SinkConfig) -> None:
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Open the catalogue, and list the bucket. ConfigError names what to change."""
        with self._catalog() as catalog:
            catalog.list_namespaces()
        if not self._config.bucket:
            return  # only the catalogue knows where its tables are
        # Tables need no conditional writes, so no object is created as a test.
        bucket = Bucket(self._config.model_copy(update={"conditional_writes": False}))
        try:
            bucket.check(self._config.topics_dir, deadline)
        finally:
            bucket.close()

    def compaction_groups(self, wish: Compaction) -> Iterator[FileGroup]:
        """Yield groups of small files in the tables that the configuration names."""
        with self._catalog() as catalog:
            for name in self._tables_of(catalog):
                yield from groups(self._table(catalog, name), wish)

    def compact(self, group: FileGroup) -> CompactedFiles | None:
        """Replace the group's files by large ones in a commit.

        Return None if some of them are not in the table any more.
        """
        with self._catalog() as catalog:
            return rewritten(self._table(catalog, tuple(group.where.split("."))), group)

    @contextmanager
    def _catalog(self) -> Iterator[Catalog]:
        catalog = load(self._config)
        try:
            with catalog_errors(self._config):
                yield catalog
        finally:
            catalog.close()

    def _table(self, catalog: Catalog, name: tuple[str, ...]) -> Table:
        table = catalog.load_table(name)
        require_reachable(self._config, ".".join(name), table)
        return table

    def _tables_of(self, catalog: Catalog) -> Iterator[tuple[str, ...]]:
        """Yield the tables whose names iceberg.table may give for a topic. They may belong to another connector."""
        from pyiceberg.exceptions import NoSuchNamespaceError

        *namespace, last = self._config.table_name.split(".")
        before, found, after = last.partition("${topic}")
        try:
            names = sorted(catalog.list_tables(tuple(namespace)))
        except NoSuchNamespaceError:
            return
        for name in names:
            is_of_topic = (
                len(name[-1]) > len(before + after) and name[-1].startswith(before) and name[-1].endswith(after)
            )
            if is_of_topic if found else name[-1] == last:
                yield name

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same configuration for each task."""
        return [dict(self._config.originals) for _ in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> IcebergSinkTask:
        """Return a task that is not open yet."""
        return IcebergSinkTask(type(self._config).parse(config))
