"""The S3 sink's connector where `table.format=iceberg`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from connect.api.compaction import CompactedFiles, Compaction
from connect.api.deadline import Deadline
from connectors.s3.config import S3SinkConfig
from connectors.s3.iceberg.catalog import catalog_errors, load, require_reachable
from connectors.s3.iceberg.compaction import compacted
from connectors.s3.iceberg.sink import IcebergSinkTask
from connectors.s3.store import Bucket

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


class IcebergSinkConnector:
    """Plans tasks: all are alike, Kafka shares the partitions out."""

    def __init__(self, config: S3SinkConfig) -> None:
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Open the catalogue, and list the bucket. ConfigError names what to change."""
        catalog = load(self._config)
        try:
            with catalog_errors(self._config):
                catalog.list_namespaces()
        finally:
            catalog.close()
        # Tables need no conditional writes, so nothing is tried out.
        bucket = Bucket(self._config.model_copy(update={"conditional_writes": False}))
        try:
            bucket.check(self._config.topics_dir, deadline)
        finally:
            bucket.close()

    def compact(self, wish: Compaction) -> Iterator[CompactedFiles]:
        """Rewrite small files of the tables that the configuration names."""
        catalog = load(self._config)
        try:
            with catalog_errors(self._config):
                for name in self._tables_of(catalog):
                    table = catalog.load_table(name)
                    require_reachable(self._config, ".".join(name), table)
                    yield from compacted(table, wish)
        finally:
            catalog.close()

    def _tables_of(self, catalog: Catalog) -> Iterator[tuple[str, ...]]:
        """Those whose name iceberg.table gives for some topic; of other topics than this connector's, too."""
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
        """The same configuration for each task."""
        return [dict(self._config.originals) for _ in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> IcebergSinkTask:
        """A task, not yet open."""
        return IcebergSinkTask(S3SinkConfig.parse(config))
