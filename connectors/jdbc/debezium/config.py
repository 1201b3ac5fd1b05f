"""Declares the settings of Debezium's PostgreSQL connector by its own keys. No driver, no I/O.

Source: the definitions that its version 3.7 gives by Kafka Connect's validation; older names from the documentation of
1.9 and 2.7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, SecretStr

from connect.api.allowed_hosts import with_ports
from connect.api.config import Boolean, ConnectorConfig, Int, ListOf, Password, String, at_least, key, one_of
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.time_types import TimePrecision
from connectors.jdbc.debezium import rules
from connectors.jdbc.debezium.shared.handling_modes import BINARY_MODES, Handling
from connectors.jdbc.debezium.shared.keys import CONNECTION, LOG, TABLES, TYPES, DebeziumConfig
from connectors.jdbc.debezium.unused_keys import ANSWERS

SNAPSHOT_MODES = (
    "initial", "initial_only", "no_data", "never", "when_needed", "schema_only", "exported", "always",
    "configuration_based",
)  # fmt: skip
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
FLUSH_MODES = ("", "manual", "connector", "connector_and_driver")
PLUGINS = ("pgoutput", "decoderbufs", "wal2json", "wal2json_streaming", "wal2json_rds", "wal2json_rds_streaming")


class ConnectionKeys(ConnectorConfig):
    """Declares where the database is."""

    port: Annotated[Int, at_least(1)] = key(
        "database.port", 5432, importance="high", group=CONNECTION, doc="The server's port."
    )
    dbname: String = key("database.dbname", importance="high", group=CONNECTION, doc="The database.")
    sslmode: Annotated[String, one_of(*SSL_MODES, ignore_case=True)] = key(
        "database.sslmode", "prefer", group=CONNECTION,
        doc="Whether the connection is encrypted, and what of the server's certificate is checked.",
    )  # fmt: skip
    sslrootcert: String = key(
        "database.sslrootcert", "", group=CONNECTION, reach=Reach.FILE, doc="The certificates that are trusted (PEM)."
    )
    sslcert: String = key(
        "database.sslcert", "", group=CONNECTION, reach=Reach.FILE, doc="The client's certificate (PEM)."
    )
    sslkey: String = key("database.sslkey", "", group=CONNECTION, reach=Reach.FILE, doc="The client's key (PEM).")
    sslpassword: Password = key(
        "database.sslpassword", SecretStr(""), group=CONNECTION, doc="The password of the client's key."
    )

    def named_hosts(self) -> Iterable[tuple[str, str]]:
        """Yield the servers with their port."""
        return with_ports(super().named_hosts(), {"database.hostname": self.port})


class TableKeys(ConnectorConfig):
    """Declares what is read, and where its records go."""

    schema_include: ListOf = key(
        "schema.include.list", (), importance="high", group=TABLES, doc="Likewise, of schemas that are read."
    )
    schema_exclude: ListOf = key("schema.exclude.list", (), group=TABLES, doc="Likewise, of schemas that are not.")
    schema_whitelist: ListOf = key("schema.whitelist", (), group=TABLES, doc="schema.include.list in Debezium 1.2.")
    schema_blacklist: ListOf = key("schema.blacklist", (), group=TABLES, doc="schema.exclude.list in Debezium 1.2.")

    message_prefix_include: ListOf = key(
        "message.prefix.include.list", (), importance="low", group=TABLES,
        doc="Regular expressions; a message of pg_logical_emit_message is sent when one matches its prefix, in any "
        "case, to the topic of topic.prefix, a dot and message (PostgreSQL 14 or later). Without it all are.",
    )  # fmt: skip
    message_prefix_exclude: ListOf = key(
        "message.prefix.exclude.list", (), importance="low", group=TABLES,
        doc="Likewise, of messages that are not sent.",
    )  # fmt: skip


class LogKeys(ConnectorConfig):
    """Declares how the log is read."""

    plugin: Annotated[String, one_of(*PLUGINS)] = key(
        "plugin.name", "decoderbufs", group=LOG,
        doc="The server's plug-in. pgoutput reads here, whichever is named; it is in every PostgreSQL.",
    )  # fmt: skip
    slot_name: String = key("slot.name", "debezium", group=LOG, doc="The replication slot; each connector has its own.")
    slot_drop_on_stop: Boolean = key(
        "slot.drop.on.stop", False, group=LOG, doc="Drop the slot when the task stops. For tests."
    )
    slot_failover: Boolean = key(
        "slot.failover",
        False,
        importance="low",
        group=LOG,
        doc="Make a slot that standbys keep (PostgreSQL 17 or later).",
    )
    publication_name: String = key(
        "publication.name", "dbz_publication", group=LOG, doc="The publication that is read."
    )
    publication_autocreate: Annotated[String, one_of("all_tables", "filtered", "disabled", "no_tables")] = key(
        "publication.autocreate.mode", "all_tables", group=LOG,
        doc="Whether a publication is made: of all tables, of the chosen ones, or not.",
    )  # fmt: skip
    via_partition_root: Boolean = key(
        "publish.via.partition.root", False, group=LOG,
        doc="Whether rows of partitions come under the name of the partitioned table.",
    )  # fmt: skip
    lsn_flush_mode: Annotated[String, one_of(*FLUSH_MODES, ignore_case=True)] = key(
        "lsn.flush.mode", "", importance="low", group=LOG,
        doc="manual: the slot stays where it is until somebody else moves it, and keeps the server's log from there. "
        "connector, connector_and_driver: it moves on once offsets are stored. Without it as flush.lsn.source says.",
    )  # fmt: skip
    flush_lsn_source: Boolean = key(
        "flush.lsn.source", True, importance="low", group=LOG,
        doc="false: lsn.flush.mode=manual by its former name.",
    )  # fmt: skip
    snapshot_mode: Annotated[String, one_of(*SNAPSHOT_MODES)] = key(
        "snapshot.mode", "initial", importance="high", group=LOG,
        doc="initial: read the tables once, then the log. initial_only: the tables alone. no_data (never, "
        "schema_only): the log alone. when_needed: as initial, and again when the place in the log is lost. "
        "always: as initial, at each start. configuration_based: as snapshot.mode.configuration.based.* say.",
    )  # fmt: skip
    status_update_interval_ms: Annotated[Int, at_least(1)] = key(
        "status.update.interval.ms", 10_000, importance="low", group=LOG,
        doc="How often the server hears that the connector lives.",
    )  # fmt: skip


def _check_precision(value: str) -> str:
    if value == "structured":
        raise ValueError("structured is not known here: use adaptive or isostring")
    return value


class TypeKeys(ConnectorConfig):
    """Declares in which form values come."""

    decimals: Annotated[String, one_of("precise", "double", "string")] = key(
        "decimal.handling.mode", "precise", group=TYPES,
        doc="NUMERIC as Decimal (VariableScaleDecimal where the column has no digits), FLOAT64 or text.",
    )  # fmt: skip
    money_digits: Annotated[Int, at_least(0)] = key(
        "money.fraction.digits", 2, importance="low", group=TYPES,
        doc="The digits behind the point of MONEY with decimal.handling.mode=precise.",
    )  # fmt: skip
    times: Annotated[String, one_of(*TimePrecision, "structured"), AfterValidator(_check_precision)] = key(
        "time.precision.mode", "adaptive", group=TYPES, doc="What dates and times become."
    )
    intervals: Annotated[String, one_of("numeric", "string")] = key(
        "interval.handling.mode", "numeric", importance="low", group=TYPES,
        doc="INTERVAL as microseconds of average months, or as ISO text.",
    )  # fmt: skip
    hstores: Annotated[String, one_of("json", "map")] = key(
        "hstore.handling.mode", "json", importance="low", group=TYPES, doc="HSTORE as JSON or as a map."
    )
    binary: Annotated[String, one_of(*BINARY_MODES)] = key(
        "binary.handling.mode", "bytes", importance="low", group=TYPES, doc="BYTEA as bytes or as text of them."
    )
    unknown: Boolean = key(
        "include.unknown.datatypes", False, group=TYPES,
        doc="Whether types without a form of their own come as the bytes of their text, or not at all.",
    )  # fmt: skip
    placeholder: String = key(
        "unavailable.value.placeholder", "__debezium_unavailable_value", importance="low", group=TYPES,
        doc="Stands for a large value that an update left as it was and the log does not hold.",
    )  # fmt: skip
    toasted_placeholder: String = key(
        "toasted.value.placeholder", "", importance="low", group=TYPES,
        doc="unavailable.value.placeholder in Debezium 1.",
    )  # fmt: skip


class DebeziumPostgresConfig(TypeKeys, LogKeys, TableKeys, ConnectionKeys, DebeziumConfig):
    """Declares everything a user may say about Debezium's PostgreSQL connector."""

    answers = ANSWERS

    @property
    def moves_slot(self) -> bool:
        """Return False if the connector must leave the slot where it is."""
        return self.lsn_flush_mode.lower() != "manual" if self.lsn_flush_mode else self.flush_lsn_source

    @property
    def handling(self) -> Handling:
        """Return the forms in which values come."""
        times = TimePrecision(self.times)
        return Handling(
            self.decimals,
            times,
            self.intervals,
            self.hstores,
            self.binary,
            self.unknown,
            money_digits=self.money_digits,
            schema_names=self.schema_name_adjustment,
            field_names=self.field_name_adjustment,
        )

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield every broken rule between keys, and the keys that are not accepted."""
        return rules.problems(self)

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield the keys that are accepted and change nothing."""
        yield from super().notes()
        yield from rules.notes(self)
