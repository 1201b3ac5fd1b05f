"""Puts records into an index as documents, each of them once.

The id of a document follows from its record. If the ids are keys, the records' offsets are the versions. So a document
that is written again after a crash is there once, and a late write of an older record changes nothing. A record that
changes nothing is counted, unless this task has sent it before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.target_answers import TargetAnswers
from connect.api.optional.write_through import WriteThroughTask
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connectors.http.calls.peer import Caller
from connectors.http.search.config import SearchSinkConfig
from connectors.http.search.documents import Action, Documents
from connectors.http.search.mapping import mapping_of
from connectors.http.search.server import Refusal, SearchServer, refused_access

_TYPED: Final = ("5.", "6.")


class SearchSinkConnector:
    """Gives the tasks of one sink their settings. It connects only in `check`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, SearchSinkConfig)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Ask the server for its version. Raise ConfigError if it is no such server, too old, or refuses the user."""
        caller = Caller(self._config.peer())
        try:
            version = SearchServer(caller).version(deadline)
        except RetriableError as error:
            raise ConfigError(error.message, key="connection.url", fix="Check the address, and that it runs.") from None
        finally:
            caller.close()
        # OpenSearch's versions begin at 1, and its API is that of Elasticsearch 7.
        if version.startswith(_TYPED):
            raise ConfigError(
                f"The server is Elasticsearch {version}, whose indices have types; version 7 or later is needed.",
                key="connection.url",
            )

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same settings for all tasks, as Kafka assigns the partitions."""
        return [dict(self._config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]) -> SearchSinkTask:
        """Return a task, which is not connected yet."""
        return SearchSinkTask(type(self._config).parse(config))


class SearchSinkTask(WriteThroughTask):
    """The task writes each batch at once, in bulk requests. The task thread owns it."""

    def __init__(self, config: SearchSinkConfig) -> None:
        super().__init__()
        self._config = config
        self._documents = Documents(config)
        self._caller: Caller | None = None
        self._ctx: SinkContext | None = None
        self._ready: set[str] = set()
        self._sent: TargetAnswers[int] = TargetAnswers()
        self._left_out = 0
        self._conflicts: TargetAnswers[Refusal] = TargetAnswers()
        self._passed = 0
        self._notes: dict[str, str] = {}

    def open(self, ctx: SinkContext) -> None:
        """Read the TLS files; the task connects with the first rows. Raise ConfigError if a file cannot be used."""
        self._ctx = ctx
        self._caller = Caller(self._config.peer())

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Write the rows. Raise RetriableError if the server is away or busy; a batch may be written again."""
        assert batch.consumed is not None
        bad = self._written(batch, deadline) if len(batch) else {}
        self._forget([batch.consumed.topic_partition])
        self._done(batch, bad)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what was sent of these partitions before."""
        self._forget(partitions)

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what was sent of these partitions."""
        super().revoked(partitions)
        self._forget(partitions)

    def close(self) -> None:
        """Close the connections."""
        if self._caller is not None:
            self._caller.close()

    def _forget(self, partitions: Collection[TopicPartition]) -> None:
        self._sent.forget(partitions)
        self._conflicts.forget(partitions)

    def _written(self, batch: Batch, deadline: Deadline) -> dict[int, Exception]:
        """Write the rows. Return the errors of those that cannot be documents, or that the server refused."""
        assert self._caller is not None
        server = SearchServer(self._caller)
        self._require_target(server, batch, deadline)
        actions, bad = self._documents.actions(batch)
        sent, conflicts = self._sent.to(batch), self._conflicts.to(batch)
        before = {*sent}
        refused: list[Refusal] = []
        for part in self._parts(actions):
            sent += [action.row for action in part if action.row not in before]
            answers = server.bulk(part, deadline)
            conflicts += [one for one in answers if one.is_conflict and one.row not in before]
            refused += answers
        waiting = [one for one in refused if one.is_for_now]
        if waiting:
            raise RetriableError(f"The server is too busy for {len(waiting)} documents: {waiting[0].reason}.")
        refused = [one for one in refused if not one.is_conflict]
        for one in refused:
            if not one.is_malformed:
                raise _failure(one)
        if bad and self._config.drop_invalid_message:
            self._leave_out(len(bad), "Records that cannot be documents", next(iter(bad.values())))
            bad = {}
        errors = _errors(refused)
        if errors and self._config.leaves_malformed_out:
            self._leave_out(len(errors), "Documents that were refused", next(iter(errors.values())))
            errors = {}
        return bad | errors | self._passed_over(conflicts)

    def _passed_over(self, conflicts: Sequence[Refusal]) -> dict[int, Exception]:
        """Count rows whose documents have the same version or a later one. Return their errors if they are bad rows."""
        if not conflicts:
            return {}
        if self._config.conflict_behavior == "report":
            return _errors(conflicts)
        if self._config.conflict_behavior == "fail":
            raise ConnectError(
                f"The server refused {len(conflicts)} documents: {conflicts[0].reason}.",
                key="behavior.on.version.conflict",
                fix="Set it to warn to leave the documents as they are, as where records are written again.",
            )
        self._passed += len(conflicts)
        why = "are there" if self._config.is_stream else "have the same version or a later one"
        told = f"Records passed over, as their documents {why}: {self._passed}."
        self._tell("passed over", f"{told} The last one: {conflicts[-1].reason}")
        return {}

    def _parts(self, actions: Sequence[Action]) -> Iterator[Sequence[Action]]:
        """Yield the actions for each request, as batch.size and bulk.size.bytes allow."""
        start, size = 0, 0
        for i, action in enumerate(actions):
            if i > start and (
                i - start == self._config.batch_size or size + len(action.lines) > self._config.bulk_size_bytes
            ):
                yield actions[start:i]
                start, size = i, 0
            size += len(action.lines)
        if start < len(actions):
            yield actions[start:]

    def _require_target(self, server: SearchServer, batch: Batch, deadline: Deadline) -> None:
        name = self._documents.index_of(batch.topic)
        if name in self._ready:
            return
        ignores_schema = self._config.ignores_schema(batch.topic)
        schema = None if ignores_schema else batch.values.schema
        mapping = None if schema is None else mapping_of(schema, compact_maps=self._config.compact_map_entries)
        if not self._config.is_stream:
            server.require_index(name, mapping, deadline, makes_it=not self._config.is_external)
        elif not self._config.is_external:
            server.require_stream(name, self._config.template_of(name), mapping, deadline)
        # Tombstones alone have no schema, and the rows that follow may have one.
        if ignores_schema or schema is not None or any(row is not None for row in batch.values.rows()):
            self._ready.add(name)

    def _leave_out(self, count: int, what: str, why: Exception) -> None:
        self._left_out += count
        self._tell("left out", f"{what}, left out: {self._left_out}. The last one: {why}")

    def _tell(self, kind: str, note: str) -> None:
        """Make a note the one of its kind, beside those of the other kinds."""
        assert self._ctx is not None
        self._notes[kind] = note[:500].replace("\n", " ")
        self._ctx.note([*self._notes.values()])


def _errors(refused: Sequence[Refusal]) -> dict[int, Exception]:
    return {one.row: ConnectError(f"The server refused it: {one.reason}.") for one in refused}


def _failure(refusal: Refusal) -> ConnectError:
    """Return the error of a refusal that is not about the document, as of a closed index or a right that lacks."""
    if refusal.status in {401, 403}:
        return refused_access(refusal.status, refusal.reason)
    return ConnectError(f"The search server refused a write (HTTP {refusal.status}: {refusal.reason}).")
