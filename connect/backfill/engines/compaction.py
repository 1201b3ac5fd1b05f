"""Joins groups of small files in tasks of Spark; each task builds the sink connector from its configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from connect.api.errors import ConnectError
from connect.api.optional.compaction import CompactableSink, CompactedFiles, FileGroup
from connect.backfill.engines.spark import SparkEngine, collected
from connect.backfill.job.spec import Engine
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_connector


@dataclass(frozen=True, slots=True)
class GroupTask:
    """Holds a group of files, and the connector's and worker's settings that say where the files are."""

    config: Mapping[str, str]
    worker: Mapping[str, str]
    group: FileGroup


def compactable(catalog: Catalog, config: Mapping[str, str], worker: Mapping[str, str]) -> CompactableSink:
    """Return the connector of a configuration. ConnectError: its target has no files that could be joined."""
    connector = build_connector(catalog, config, worker)
    if not isinstance(connector, CompactableSink):
        raise ConnectError("Its files cannot be compacted; objects and Iceberg tables of the S3 sink can.")
    return connector


def compact_group(task: GroupTask) -> CompactedFiles | None:
    """Join the files of a group, in the process that calls this."""
    return compactable(Catalog.installed(), task.config, task.worker).compact(task.group)


def compact_on_spark(engine: Engine, name: str, tasks: Sequence[GroupTask]) -> Iterator[CompactedFiles]:
    """Join each group in a task of Spark. ConnectError: Spark did not start, or a group failed too often."""
    if not tasks:
        return
    session = SparkEngine(engine, name).session()
    try:
        yield from (done for done in collected(session, compact_group, tasks) if done is not None)
    finally:
        session.stop()
