"""The agent beside a node: the changes in its commit log as records, its segments deleted once those are in Kafka."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from connect.api import schema as s
from connect.api.config import ConnectorConfig
from connect.api.connector import SourceContext
from connect.api.deadline import Deadline
from connect.api.records import Batch, Column, SourcePosition
from connectors.cassandra.log.agent_config import CassandraAgentConfig
from connectors.cassandra.log.chunk import batches
from connectors.cassandra.log.disk import DiskWatch, read_limit
from connectors.cassandra.log.event_columns import Node
from connectors.cassandra.log.folder import CdcFolder
from connectors.cassandra.log.segment import Frames
from connectors.cassandra.log.segments import Place, Segments
from connectors.cassandra.log.watched import Watched
from connectors.cassandra.queries import Queries
from connectors.cassandra.schema_reader import read_schemas
from connectors.cassandra.session import Database

log = logging.getLogger(__name__)
PROTOCOL = "1"
BATCH_BYTES = 524_288
"""A batch has mutations of at most so many bytes, or one mutation; in memory it takes many times that."""


class CassandraCdcAgent:
    """The agent's connector: always one task, as a node has one commit log."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, CassandraAgentConfig)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Check that the folder can be listed and the node answers. ConnectError and ConfigError where not."""
        del deadline
        CdcFolder(Path(self._config.cdc_raw_folder)).segments()
        database = Database(self._config, only_contact_points=True)
        try:
            read_schemas(database)
        finally:
            database.close()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """The configuration of the one task."""
        del max_tasks
        return [dict(self._config.originals)]

    def task(self, config: Mapping[str, str]) -> CassandraCdcTask:
        """The task, which is not connected yet."""
        return CassandraCdcTask(CassandraAgentConfig.parse(config))


class NodeDatabase(Queries, Protocol):
    """The queries that the agent asks its node."""

    def close(self) -> None:
        """Close the connection. May be called twice."""


class CassandraCdcTask:
    """Reads segment after segment. Owned by the task thread."""

    def __init__(self, config: CassandraAgentConfig, database: NodeDatabase | None = None) -> None:
        """`database` takes the place of a connection to the node."""
        self._config = config
        self._database = database or Database(config, only_contact_points=True)
        self._folder = CdcFolder(Path(config.cdc_raw_folder))
        self._segments = Segments(self._folder)
        self._disk: DiskWatch | None = None
        self._ready: deque[Batch] = deque()
        self._watched: Watched | None = None
        self._node = Node("", "", "")
        self._context: SourceContext | None = None
        self._place: Place | None = None
        self._taken: Frames | None = None
        """Mutations that are no events yet: the node may be away when its schema has to be read again."""
        self._segment: int | None = None
        """The segment of the mutations that were read last."""

    def open(self, ctx: SourceContext) -> None:
        """Ask the node for its name and tables, and go on behind the last change that is in Kafka."""
        self._context = ctx
        # The first thing that may be wrong with a new agent, and the error that says what to do.
        self._folder.segments()
        ((cluster, datacenter, host_id),) = self._database.rows(
            "SELECT cluster_name, data_center, host_id FROM system.local", doing="asking the node for its name"
        )
        self._node = Node(cluster, datacenter, str(host_id))
        self._watched = Watched(lambda: read_schemas(self._database), self._config.tables, self._config.topic_prefix)
        self._disk = DiskWatch(self._folder.size_bytes, read_limit(self._database), ctx.gauge)
        self._disk.start()
        self._segments.begin(Place.of(ctx.stored_offset(self._partition)))

    def poll(self, deadline: Deadline) -> Batch | None:
        """The changes of one table among the next mutations. The last batch of these has the position behind them."""
        while not self._ready:
            if deadline.expired:
                return None
            if not self._read():
                deadline.wait(self._config.poll_interval_ms / 1000)
        return self._ready.popleft()

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Delete the segments whose changes are all in Kafka."""
        for position in positions:
            if (place := Place.of(position.offset)) is not None:
                self._segments.stored(place)

    def close(self) -> None:
        """Close the file and the connections."""
        if self._disk is not None:
            self._disk.close()
        self._segments.close()
        self._database.close()

    @property
    def _partition(self) -> Mapping[str, object]:
        return {"protocol": PROTOCOL, "node": self._node.id}

    def _read(self) -> bool:
        """Read some mutations; False where there is nothing new. RetriableError: the node's schema cannot be read."""
        assert self._watched is not None
        assert self._context is not None
        if self._taken is None:
            self._taken = self._segments.frames(self._config.max_batch_size, BATCH_BYTES)
        found = self._taken
        if found is not None and found.segment != self._segment:
            # Segments without changes of watched tables are not read, and one of those may tell of the schema.
            self._watched.refresh()
            self._segment = found.segment
        made = [] if found is None else batches(found, self._watched, self._node, self._segments.keep)
        self._taken = None
        place, before = self._segments.place(), self._place
        self._context.gauge("unknown_mutations", self._watched.unknown_mutations)
        if place is None or place == before:
            return False
        self._place = place
        # A place without events behind the one before is told only where it lets a segment go.
        if not made and not place.finished:
            return True
        made = made or [self._nothing()]
        # Behind the last table's batch all of them are there.
        made[-1] = replace(made[-1], position=SourcePosition(self._partition, place.offset))
        self._ready.extend(made)
        return True

    def _nothing(self) -> Batch:
        """An empty batch that carries a position. Its topic is one that exists anyway, so that none is made for it."""
        assert self._watched is not None
        topics = [table.topic for table in self._watched.tables.values()]
        return Batch(topics[0] if topics else f"{self._config.topic_prefix}progress", Column.from_rows([], s.STRING))
