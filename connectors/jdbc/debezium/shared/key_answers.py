"""Holds answers to keys of Debezium's connectors that have no effect here, with those that all of them share. Pure.

Source: the definitions that Kafka Connect's validation gives of version 3, and the documentation of 1.9 and 2.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from connect.api.errors import ConfigProblem

TUNING: Final = "the reader here has its own measure"
_SIGNALS = "signal.poll.interval.ms says how often signals are looked for"
_GROUP = "the place in the topic of signals is in the connector's offset, and no group reads it"
_WATERMARKS = "nothing is written into the database to read a table again: the log's own places tell what is newer"
_NOTIFICATIONS = "nothing is notified here: status and metrics of the REST interface tell the same"
_LINEAGE = "no lineage is sent here"
_METRICS = "metrics here are those of the worker"

WITHOUT_EFFECT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "database.query.timeout.ms": "a statement may take as long as the server lets it",
        "event.converting.failure.handling.mode": "a row that no record can hold is handled by errors.tolerance",
        "event.processing.failure.handling.mode": "a row that no record can hold is handled by errors.tolerance",
        "include.schema.comments": "schemas have no comments here",
        "table.ignore.builtin": "tables of the system are never read",
        "snapshot.isolation.mode": "the first read sees one moment, as with serializable",
        "snapshot.locking.mode": "the first read locks nothing but changes of a table's columns",
        "snapshot.lock.timeout.ms": "the first read waits for no lock but one against changes of a table's columns",
        "snapshot.delay.ms": "the first read begins at once, and goes on where it was when a task moves",
        "streaming.delay.ms": "the log is read as soon as the tables are",
        "snapshot.fetch.size": TUNING,
        "query.fetch.size": TUNING,
        "snapshot.mode.configuration.based.snapshot.schema": "columns are always known",
        "snapshot.mode.configuration.based.snapshot.on.schema.error": "columns are always known",
        "snapshot.max.threads": TUNING,
        "snapshot.max.threads.multiplier": TUNING,
        "legacy.snapshot.max.threads": TUNING,
        "snapshot.tables.order.by.row.count": "tables are read in the order of their names",
        "rows.fetch.size": TUNING,
        "min.row.count.to.stream.results": TUNING,
        "max.queue.size": TUNING,
        "max.queue.size.in.bytes": TUNING,
        "poll.interval.ms": "changes are sent as soon as they are there",
        "executor.shutdown.timeout.ms": TUNING,
        "retriable.restart.connector.wait.ms": "errors.retry.delay.max.ms tells it",
        "errors.max.retries": "errors.retry.timeout tells it",
        "connection.validation.timeout.ms": TUNING,
        "memory.management.schemas.class": TUNING,
        "memory.management.tables.class": TUNING,
        "statistics.metrics.enabled": _METRICS,
        "custom.metric.tags": _METRICS,
        "topic.cache.size": TUNING,
        "custom.sanitize.pattern": "no secret is shown here, whatever its name",
        "guardrail.collections.max": "there is no limit here",
        "guardrail.collections.limit.action": "there is no limit here",
        "signal.emit.failure.max.retries": _SIGNALS,
        "signal.emit.failure.backoff.ms": _SIGNALS,
        "signal.kafka.groupid": _GROUP,
        "signal.kafka.poll.timeout.ms": _SIGNALS,
        "read.only": _WATERMARKS,
        "incremental.snapshot.allow.schema.changes": "each chunk is read with the columns that the table has then",
        "incremental.snapshot.watermarking.strategy": _WATERMARKS,
        "notification.enabled.channels": _NOTIFICATIONS,
        "notification.sink.topic.name": _NOTIFICATIONS,
        "notification.http.url": _NOTIFICATIONS,
        "notification.http.timeout.ms": _NOTIFICATIONS,
        "notification.http.retries": _NOTIFICATIONS,
        "notification.http.allow.private.networks": _NOTIFICATIONS,
        "openlineage.integration.enabled": _LINEAGE,
        "openlineage.integration.config.file.path": _LINEAGE,
        "openlineage.integration.job.namespace": _LINEAGE,
        "openlineage.integration.job.description": _LINEAGE,
        "openlineage.integration.job.tags": _LINEAGE,
        "openlineage.integration.job.owners": _LINEAGE,
        "openlineage.integration.dataset.kafka.bootstrap.servers": _LINEAGE,
        "internal.advanced.metrics.enable": _METRICS,
        "internal.legacy.snapshot.max.threads": TUNING,
        "internal.log.position.check.enable": "the place in the log is always checked",
        "internal.offset.activity.monitor.interval.ms": TUNING,
        "internal.signal.processor.semaphore.wait.ms": _SIGNALS,
        "internal.signal.synchronous.batch.size": _SIGNALS,
        "internal.snapshot.scan.all.columns.force": TUNING,
    }
)
"""Maps keys that are accepted, in lower case, to the reason why they change nothing."""

REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "converters": "Java's converters do not run here; a transform can change the field",
        "post.processors": "Java's post processors do not run here; a transform can change the record",
        "column.propagate.source.type": "schemas do not tell the column's type; leave it out",
        "datatype.propagate.source.type": "schemas do not tell the column's type; leave it out",
        "snapshot.mode.custom.name": "Java's snapshotter does not run here; use another snapshot.mode",
        "snapshot.custom.class": "Java's snapshotter does not run here; use another snapshot.mode",
        "snapshot.query.mode.custom.name": "Java's class does not run here; leave it out",
        "snapshot.locking.mode.custom.name": "Java's class does not run here; leave it out",
        "transaction.metadata.factory": "Java's class does not run here; leave it out",
        "sourceinfo.struct.maker": "the source block is that of Debezium 2 and 3; leave it out",
    }
)
"""Maps keys that are not accepted to the fix. Values that ask for what is done anyway are accepted, see HARMLESS."""

HARMLESS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "topic.naming.strategy": frozenset(
            {"io.debezium.schema.SchemaTopicNamingStrategy", "io.debezium.schema.DefaultTopicNamingStrategy"}
        ),
        "transaction.metadata.factory": frozenset(
            {"io.debezium.pipeline.txmetadata.DefaultTransactionMetadataFactory"}
        ),
    }
)
"""Maps keys of REFUSED to values that are accepted, as they ask for what is done anyway. So is each empty value."""

_FOREIGN_PREFIXES: Final = (
    "database.", "driver.", "signal.", "notification.", "schema.history.", "database.history.", "internal.",
    "openlineage.", "incremental.",
)  # fmt: skip
"""Debezium passes keys that begin with one of these on to its drivers and clients."""


OF_JAVA: Final = "it is a setting of a driver or a client of Java's, and none runs here"
_OF_JAVA: Final = re.compile(
    r"driver\..*|database\.[a-z]+[A-Z]\w*|"
    r"(?:database\.history|schema\.history\.internal)\.(?:consumer|producer)\..*"
)


def is_for_java(name: str) -> bool:
    """Return True if Debezium passes a key on to a driver (the key has capitals) or to one of its own clients."""
    return _OF_JAVA.fullmatch(name) is not None


@dataclass(frozen=True)
class KeyAnswers:
    """Holds the answers to keys of one connector that have no effect here.

    A key without an answer is a setting that works, or is not Debezium's.
    """

    without_effect: Mapping[str, str]
    refused: Mapping[str, str]
    harmless: Mapping[str, frozenset[str]]

    def know(self, name: str) -> bool:
        """Return True if a key has an answer, or if Debezium passes it on to its drivers and clients."""
        is_answered = name.lower() in self.without_effect or name in self.refused
        return is_answered or name.startswith(_FOREIGN_PREFIXES)

    def notes(self, given: Mapping[str, str]) -> Iterator[ConfigProblem]:
        """Yield the keys that are accepted and change nothing, each with the reason."""
        for name in given:
            why = self.without_effect.get(name.lower())
            if why is not None:
                yield ConfigProblem(name, f"{name} changes nothing here: {why}.")

    def problems(self, given: Mapping[str, str]) -> Iterator[ConfigProblem]:
        """Yield the keys that are not accepted, each with the fix."""
        for name, value in given.items():
            found = self.refused.get(name)
            if found is not None and value.strip() and value.strip() not in self.harmless.get(name, ()):
                yield ConfigProblem(name, f"{name} is not known here: {found}.")
