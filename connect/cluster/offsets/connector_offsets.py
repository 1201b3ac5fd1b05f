"""Reads and changes the offsets of connectors: in the offsets topic (sources) or in their consumer group (sinks).

It works on threads of its own, as a slow broker must not hold up the herder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from connect.api.connector import AlteredOffsets
from connect.api.errors import RetriableError
from connect.api.records import SourcePosition, TopicPartition
from connect.cluster.loop.connector_calls import Positions
from connect.cluster.loop.herder_parts import ConnectorCatalog, connector_config
from connect.cluster.model.config_state import ConfigSnapshot
from connect.cluster.model.connector_values import PartitionOffset, TargetState
from connect.cluster.model.request_errors import BadRequestError, FailedRequestError, NotFoundError
from connect.cluster.offsets import sink_offsets
from connect.cluster.offsets.sink_groups import SinkGroup
from connect.cluster.offsets.source_offsets import StoredSourceOffsets
from connect.lib.deadline import Deadline
from connect.lib.secrets import HIDDEN
from connect.runtime.settings.config_providers import placeholders
from connect.runtime.source.ledger import partition_key
from connect.runtime.source.shown_positions import has_mask, meant, shown
from connect.runtime.task.messages import CallResult, Method

TIMEOUT_S: Final = 60.0
ASK_S: Final = 20.0
"""A connector has this many seconds to approve or refuse offsets."""

Ask = Callable[[Method, Mapping[str, str], float, Positions], Future[CallResult]]
"""Calls a method in a task host for a connector's configuration; the third argument is the time-out in seconds."""


class ConnectorOffsets:
    """Reads and changes the offsets of connectors of any kind. Any thread may ask."""

    def __init__(
        self,
        sources: StoredSourceOffsets,
        group: Callable[[str, Mapping[str, str]], SinkGroup],
        catalog: ConnectorCatalog,
        snapshot: Callable[[], ConfigSnapshot],
        ask: Ask,
        *,
        await_stopped: Callable[[str, Deadline], bool],
    ) -> None:
        """Take the parts that know offsets. `await_stopped` returns True when no task of a connector runs any more."""
        self._await_stopped = await_stopped
        self._sources = sources
        self._group = group
        self._catalog = catalog
        self._snapshot = snapshot
        self._ask = ask
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="offsets")

    def read(self, name: str) -> Future[Sequence[PartitionOffset]]:
        """Return where a connector stands, without values from config providers. NotFoundError."""
        return self._threads.submit(self._read, name)

    def alter(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[AlteredOffsets]:
        """Set or delete offsets. The answer tells if the connector has no others. RequestError, NotFoundError.

        A partition may be given as `read` shows it, with a placeholder or mask in place of a provider's value.
        """
        return self._threads.submit(self._alter, name, offsets)

    def unknown(self, name: str, offsets: Sequence[PartitionOffset]) -> Future[Sequence[PartitionOffset]]:
        """Return the offsets that `alter` would refuse, as their partitions do not exist. RequestError, NotFoundError.

        A source knows its partitions itself, so that none of its offsets are returned.
        """
        return self._threads.submit(self._unknown, name, offsets)

    def reset(self, name: str) -> Future[bool]:
        """Delete all offsets; the future gives True if the connector has no others. RequestError, NotFoundError."""
        return self._threads.submit(self._reset, name)

    def replace(self, name: str, config: Mapping[str, str], offsets: Sequence[PartitionOffset]) -> Future[bool]:
        """Replace all offsets of a connector that is about to be created; True if it has no others. RequestError."""
        return self._threads.submit(self._replace, name, config, offsets)

    def close(self) -> None:
        """Close the offsets topic."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._sources.close()

    def _read(self, name: str) -> Sequence[PartitionOffset]:
        config = connector_config(self._snapshot(), name)
        deadline = Deadline.after(TIMEOUT_S)
        found = self._shown(name, config, self._stored(name, config, deadline), deadline)
        return [PartitionOffset(partition, offset) for partition, offset in found]

    def _stored(self, name: str, config: Mapping[str, str], deadline: Deadline) -> Positions:
        if self._catalog.kind(config) == "sink":
            found = sink_offsets.shown(self._group(name, config).offsets(deadline))
            return [(offset.partition, offset.offset) for offset in found]
        return [(p.partition, p.offset) for p in self._sources.read(name, config, deadline)]

    def _shown(self, name: str, config: Mapping[str, str], stored: Positions, deadline: Deadline) -> Positions:
        """Return the positions without values from config providers.

        If no provider can be asked now, all texts of the positions are masked.
        """
        if not stored or not any(True for value in config.values() for _ in placeholders(value)):
            return stored
        asked = self._ask("hide", {**config, "name": name}, ASK_S, stored)
        said = asked.result(deadline.remaining_s)
        if said.error is not None:
            return shown(stored, lambda _: HIDDEN, names=False)
        return [(partition, offset) for partition, offset in said.value]

    def _meant(
        self, name: str, config: Mapping[str, str], given: Sequence[PartitionOffset], deadline: Deadline
    ) -> Sequence[PartitionOffset]:
        """Return the offsets with the stored partitions in place of those that are given as `read` shows them.

        BadRequestError: no stored partition is shown so.
        """
        positions = [(offset.partition, offset.offset) for offset in given]
        if not any(map(has_mask, positions)):
            return given
        stored = self._stored(name, config, deadline)
        try:
            found = meant(positions, stored, self._shown(name, config, stored, deadline))
        except ValueError as error:
            raise BadRequestError(str(error)) from error
        return [PartitionOffset(partition, offset) for partition, offset in found]

    def _alter(self, name: str, offsets: Sequence[PartitionOffset]) -> AlteredOffsets:
        config = self._stopped(name)
        if not offsets:
            raise BadRequestError("Partitions / offsets need to be provided for an alter offsets request")
        deadline = Deadline.after(TIMEOUT_S)
        self._at_rest(name, deadline)
        offsets = self._meant(name, config, offsets, deadline)
        if self._catalog.kind(config) == "sink":
            return self._alter_group(name, config, sink_offsets.parsed(offsets), deadline)
        return self._alter_source(name, config, [SourcePosition(o.partition, o.offset) for o in offsets], deadline)

    def _unknown(self, name: str, offsets: Sequence[PartitionOffset]) -> Sequence[PartitionOffset]:
        config = connector_config(self._snapshot(), name)
        if not offsets or self._catalog.kind(config) != "sink":
            return []
        deadline = Deadline.after(TIMEOUT_S)
        sizes = self._group(name, config).topics(deadline)
        meant = [sink_offsets.parsed([one]) for one in self._meant(name, config, offsets, deadline)]
        return [
            one
            for one, place in zip(offsets, meant, strict=True)
            if one.offset is not None and sink_offsets.unknown(place, sizes)
        ]

    def _reset(self, name: str) -> bool:
        config = self._stopped(name)
        deadline = Deadline.after(TIMEOUT_S)
        self._at_rest(name, deadline)
        if self._catalog.kind(config) == "sink":
            with _TellMembers(name):
                self._group(name, config).delete(deadline.sooner(10))
            return self._catalog.keeps_no_offsets(config)
        gone = [SourcePosition(p.partition, None) for p in self._sources.read(name, config, deadline)]
        return self._alter_source(name, config, gone, deadline).is_whole

    def _alter_group(
        self, name: str, config: Mapping[str, str], wanted: Mapping[TopicPartition, int | None], deadline: Deadline
    ) -> AlteredOffsets:
        group = self._group(name, config)
        with _TellMembers(name):
            # Kafka sets the offsets of the partitions that there are, and refuses the others.
            sizes = group.topics(deadline.sooner(20))
            if unknown := sink_offsets.unknown({tp for tp, at in wanted.items() if at is not None}, sizes):
                raise BadRequestError(f"No offset was changed, as these partitions do not exist: {unknown}")
            self._stopped(name)
            group.alter(wanted, deadline.sooner(20))
        return AlteredOffsets(self._catalog.keeps_no_offsets(config), sink_offsets.unread(wanted, config))

    def _alter_source(
        self, name: str, config: Mapping[str, str], wanted: Sequence[SourcePosition], deadline: Deadline
    ) -> AlteredOffsets:
        self._stopped(name)
        self._sources.shut_out(name, config, deadline)
        said = self._approved({**config, "name": name}, wanted, deadline, refused=FailedRequestError)
        # Somebody may have resumed it while it was asked: then its tasks run at the old offsets.
        self._at_rest(name, deadline)
        self._sources.write(name, config, wanted, deadline)
        self._still_stopped(name)
        return said

    def _approved(
        self,
        config: Mapping[str, str],
        wanted: Sequence[SourcePosition],
        deadline: Deadline,
        *,
        refused: type[BadRequestError | FailedRequestError],
    ) -> AlteredOffsets:
        """Let the connector approve the offsets before anything is written.

        BadRequestError: the connector names what is wrong. The error of the class `refused` is raised if it refuses
        with a text alone, as connectors in Java do.
        """
        asked = self._ask("alter_offsets", config, ASK_S, [(p.partition, p.offset) for p in wanted])
        said = asked.result(deadline.remaining_s)
        if said.error is not None:
            raise BadRequestError(said.error) if said.problems else refused(said.error)
        is_whole, notes = said.value
        return AlteredOffsets(is_whole or self._catalog.keeps_no_offsets(config), notes)

    def _replace(self, name: str, config: Mapping[str, str], offsets: Sequence[PartitionOffset]) -> bool:
        deadline = Deadline.after(TIMEOUT_S)
        if self._catalog.kind(config) == "sink":
            self._replace_group(name, config, sink_offsets.parsed(offsets), deadline)
            return self._catalog.keeps_no_offsets(config)
        wanted = [SourcePosition(o.partition, o.offset) for o in offsets]
        said = self._approved(config, wanted, deadline, refused=BadRequestError)
        self._sources.shut_out(name, config, deadline)
        given = {partition_key(position.partition) for position in wanted}
        stored = self._sources.read(name, config, deadline)
        gone = [SourcePosition(p.partition, None) for p in stored if partition_key(p.partition) not in given]
        self._sources.write(name, config, [*gone, *wanted], deadline)
        return said.is_whole

    def _replace_group(
        self, name: str, config: Mapping[str, str], wanted: Mapping[TopicPartition, int | None], deadline: Deadline
    ) -> None:
        group = self._group(name, config)
        # The topics are checked before the old offsets are deleted, as offsets of a missing topic cannot be set.
        sizes = group.topics(deadline)
        if unknown := sink_offsets.unknown(wanted, sizes):
            raise BadRequestError(f"Initial offsets cannot be set for partitions that do not exist: {unknown}")
        with _TellMembers(name):
            group.delete(deadline.sooner(10))
            target = {tp: offset for tp, offset in wanted.items() if offset is not None}
            if target:
                group.alter(target, deadline.sooner(10))

    def _at_rest(self, name: str, deadline: Deadline) -> None:
        """Wait for the end of the connector's tasks. BadRequestError: it is not stopped any more.

        FailedRequestError: tasks of a source do not end, which would store their own offsets over those that are set.
        Kafka itself refuses the offsets of a sink whose tasks run.
        """
        has_ended = self._await_stopped(name, deadline)
        config = self._stopped(name)
        if not has_ended and self._catalog.kind(config) != "sink":
            raise FailedRequestError(
                f"Failed to alter offsets for connector {name}, because its tasks haven't stopped completely yet. "
                "Nothing was written. Send the request again."
            )

    def _still_stopped(self, name: str) -> None:
        """Tell of a connector that another worker resumed in the moment in which its offsets were written."""
        try:
            self._stopped(name)
        except (BadRequestError, NotFoundError) as error:
            raise FailedRequestError(
                f"The offsets of connector {name} were written, but it was resumed or deleted meanwhile, and its tasks "
                "may have begun at the former offsets and store theirs over these. Stop it and send the request again."
            ) from error

    def _stopped(self, name: str) -> Mapping[str, str]:
        snapshot = self._snapshot()
        config = connector_config(snapshot, name)
        if snapshot.target(name) is not TargetState.STOPPED or snapshot.tasks.get(name):
            raise BadRequestError(
                "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for "
                f"the specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint",
            )
        return config


class _TellMembers:
    """Turns the error that a group has members into the error that Kafka Connect answers with."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        """Do nothing, as there is nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RetriableError):
            raise FailedRequestError(
                f"Failed to alter consumer group offsets for connector {self._name} either because its tasks haven't "
                "stopped completely yet or the resources needed for altering offsets are not available: "
                f"{error.message}",
            ) from error
