"""Runs the agent beside a node: it makes records of the changes in the commit log, and deletes segments once those are
in Kafka.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

from connect.api import schema as s
from connect.api.config import ConnectorConfig
from connect.api.connector import SourceContext
from connect.api.records import Batch, Column, SourcePosition
from connect.lib.deadline import Deadline
from connectors.cassandra.cql.queries import Queries
from connectors.cassandra.cql.schema_reader import read_schemas
from connectors.cassandra.cql.session import Database
from connectors.cassandra.log.agent_config import CassandraAgentConfig
from connectors.cassandra.log.delivered_time import Delay
from connectors.cassandra.log.events.event_batches import batches
from connectors.cassandra.log.events.event_columns import Node
from connectors.cassandra.log.events.watched_tables import Watched
from connectors.cassandra.log.segments.agent_name import Owner, take_name
from connectors.cassandra.log.segments.disk import DiskWatch, read_limit
from connectors.cassandra.log.segments.folder import CdcFolder
from connectors.cassandra.log.segments.folder_lock import FolderLock
from connectors.cassandra.log.segments.place import Place
from connectors.cassandra.log.segments.segment import Frames
from connectors.cassandra.log.segments.segment_reader import Segments

log = logging.getLogger(__name__)
PROTOCOL = "1"
OWNER: Final = {"protocol": PROTOCOL, "owner": "agent"}
"""The source partition of the process that runs the agent."""
_UNREAD_S = 1.0
"""How often the index files of all waiting segments are read, at most."""
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
        """Return the configuration of the one task."""
        del max_tasks
        return [dict(self._config.originals)]

    def task(self, config: Mapping[str, str]) -> CassandraCdcTask:
        """Return the task, which is not connected yet."""
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
        self._watched: Watched | None = None
        self._node = Node("", "", "")
        self._context: SourceContext | None = None
        self._place: Place | None = None
        self._delay = Delay(0.0)
        self._taken: Frames | None = None
        """Mutations that are no events yet: the node may be away when its schema has to be read again."""
        self._segment: int | None = None
        """The segment of the mutations that were read last."""
        self._lock: FolderLock | None = None
        self._unread_at_s = self._next_read_s = 0.0
        self._notes: list[SourcePosition] = []
        """This list holds the source positions to be stored with the next unit."""

    def open(self, ctx: SourceContext) -> None:
        """Ask the node for its name and tables, and go on behind the last change that is in Kafka.

        RetriableError: another agent reads the folder. ConfigError: another one has taken this agent's name.
        """
        self._context = ctx
        self._delay = Delay(time.time())
        # The first thing that may be wrong with a new agent, and the error that says what to do.
        self._folder.segments()
        self._lock = FolderLock(self._folder.path)
        ((cluster, datacenter, host_id),) = self._database.rows(
            "SELECT cluster_name, data_center, host_id FROM system.local", doing="asking the node for its name"
        )
        self._node = Node(cluster, datacenter, str(host_id))
        owner = take_name(ctx.connector, self._node.id, Owner.of(ctx.stored_offset(OWNER)))
        self._notes.append(SourcePosition(OWNER, owner.offset))
        self._watched = Watched(
            lambda: read_schemas(self._database),
            self._config.tables,
            self._config.topic_prefix,
            lambda keyspace: ctx.stored_offset(self._history(keyspace)),
        )
        self._disk = DiskWatch(self._folder, read_limit(self._database), ctx.gauge)
        self._disk.start()
        self._segments.begin(Place.of(ctx.stored_offset(self._partition)))
        self._tell_delay()

    def poll(self, deadline: Deadline) -> Sequence[Batch]:
        """Return the changes of the next mutations, a batch per table. They are a unit with one position behind it."""
        interval_s = self._config.poll_interval_ms / 1000
        while deadline.wait(max(0.0, self._next_read_s - time.monotonic())):
            began_s = time.monotonic()
            unit = self._read()
            # A unit costs as much as hundreds of events: a node that writes a little all the time is read in its turn.
            self._next_read_s = began_s + interval_s if unit is None or self._segments.is_at_end else began_s
            if unit:
                return unit
        return ()

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Delete the segments whose changes are all in Kafka."""
        for position in positions:
            if position.partition == self._partition and (place := Place.of(position.offset)) is not None:
                self._segments.stored(place)
                self._delay.stored(place)
        self._tell_delay()

    def close(self) -> None:
        """Close the file and the connections, and let others have the folder."""
        if self._disk is not None:
            self._disk.close()
        self._segments.close()
        self._database.close()
        if self._lock is not None:
            self._lock.release()

    @property
    def _partition(self) -> Mapping[str, object]:
        return {"protocol": PROTOCOL, "node": self._node.id}

    def _history(self, keyspace: str) -> Mapping[str, object]:
        """Return the source partition of what is known of a keyspace's tables."""
        return {**self._partition, "keyspace": keyspace}

    def _read(self) -> Sequence[Batch] | None:
        """Return the batches of some mutations; None where there is nothing new.

        RetriableError: the node does not answer.
        """
        assert self._watched is not None
        if self._taken is None:
            self._taken = self._segments.frames(self._config.batch_max_rows, BATCH_BYTES)
        found = self._taken
        if found is not None and found.segment != self._segment:
            # Segments without changes of watched tables are not read, and one of those may tell of the schema.
            self._watched.refresh()
            self._segment = found.segment
        made = [] if found is None else batches(found, self._watched, self._node, self._segments.keep)
        self._taken = None
        if made:
            self._segments.has_changes()
        self._tell(self._watched)
        self._note(self._watched)
        place = self._segments.place()
        has_moved = place is not None and place != self._place
        if place is not None and has_moved:
            self._place = place
            # A place without events behind the one before is told only where it lets a segment go.
            if made or place.finished:
                self._notes.append(SourcePosition(self._partition, place.offset))
                self._delay.given(place, sum(map(len, made)))
        if self._segments.is_drained and found is None:
            self._delay.drained(time.time())
        else:
            self._delay.unread()
        self._tell_delay()
        self._tell_unread()
        if made or self._notes:
            return self._unit(made)
        return () if has_moved or self._segments.is_passing else None

    def _note(self, watched: Watched) -> None:
        """Note what is known of tables, where that has changed."""
        for keyspace, entry in watched.history.take_changes().items():
            self._notes.append(SourcePosition(self._history(keyspace), entry))

    def _unit(self, made: Sequence[Batch]) -> Sequence[Batch]:
        """Return the batches with all that is to be stored with them, the last of it in the last batch."""
        notes, self._notes = self._notes, []
        if not made or not notes:
            return (*made, *(replace(self._nothing(), position=note) for note in notes))
        # A batch of its own for the place, without rows, would be a twentieth of what a small unit costs.
        *others, last = notes
        empty = (replace(self._nothing(), position=note) for note in others)
        return (*made[:-1], *empty, replace(made[-1], position=last))

    def _tell(self, watched: Watched) -> None:
        assert self._context is not None
        self._context.gauge("unknown_mutations", watched.unknown_mutations)
        self._context.gauge("unread_places", self._segments.unread_places)
        self._context.gauge("lost_segments", self._segments.lost_segments)
        self._context.gauge("waiting_segments", self._segments.waiting_segments)
        self._context.gauge("stuck_segments", float(self._segments.waits is not None))
        self._context.explain(self._segments.waits)

    def _tell_delay(self) -> None:
        assert self._context is not None
        self._context.caught_up(self._delay.caught_up_s, behind=self._delay.is_behind)

    def _tell_unread(self) -> None:
        # Each index file is read for it.
        if (now_s := time.monotonic()) >= self._unread_at_s:
            self._unread_at_s = now_s + _UNREAD_S
            assert self._context is not None
            is_drained = self._segments.is_drained
            self._context.gauge("source_lag_bytes", 0 if is_drained else self._segments.unread_bytes)
            # How many rows the unread log holds nobody knows before it is read.
            self._context.gauge("source_lag_rows", self._delay.unstored_rows if is_drained else None)

    def _nothing(self) -> Batch:
        """Return an empty batch that carries a position.

        Its topic is one that exists anyway, so that none is made for it.
        """
        assert self._watched is not None
        topics = [table.topic for table in self._watched.tables.values()]
        return Batch(topics[0] if topics else f"{self._config.topic_prefix}progress", Column.from_rows([], s.STRING))
