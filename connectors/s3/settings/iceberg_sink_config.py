"""Declares the settings of the Iceberg sink under the keys of Apache's connector, and of Tabular's, its predecessor.

They are translated to those of the S3 sink with `table.format=iceberg`. Source of names and defaults: the documentation
of Iceberg 1.10, Kafka Connect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from pydantic import AfterValidator, BeforeValidator

from connect.api.allowed import OneOf
from connect.api.config import Boolean, ClassName, Int, ListOf, Long, String, at_least, key, one_of
from connect.api.errors import ConfigProblem
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connectors.s3.formats.format_specs import PARQUET_FORMAT
from connectors.s3.settings.classes import LOCAL_STORAGE
from connectors.s3.settings.limits import any_package, off_or_positive, one_class
from connectors.s3.settings.other_stores import OtherStoreConfig
from connectors.s3.settings.partition_by import parse_partition_by

_PREFIX: Final = "iceberg.catalog."
_SAME: Final = MappingProxyType({
    "s3.endpoint": "store.url",
    "s3.access-key-id": "aws.access.key.id",
    "s3.secret-access-key": "aws.secret.access.key",
    "s3.path-style-access": "s3.path.style.access.enabled",
    "client.region": "s3.region",
})  # fmt: skip
"""Maps keys of Iceberg's catalogue (without `iceberg.catalog.`) to the keys of the S3 sink."""
_IMPLEMENTATIONS: Final = MappingProxyType({
    "RESTCatalog": "rest", "GlueCatalog": "glue", "JdbcCatalog": "sql", "HiveCatalog": "hive",
})  # fmt: skip
_DATABASES: Final = MappingProxyType({"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "sqlite": "sqlite"})
_REGEX: Final = re.compile(r"iceberg\.table\.(.+)\.route-regex")
_BRANCH: Final = "iceberg.tables.default-commit-branch"
_MAIN: Final = "main"


def _check_partition_by(value: str) -> str:
    parse_partition_by(value)
    return value


class IcebergSinkConfig(OtherStoreConfig):
    """Declares the settings for tables and their catalogue. Those of the store are the S3 sink's."""

    own = "s3."
    families = ("iceberg.table.", _BRANCH)
    """Keys of one table that have no effect are told by `notes`, as its name stands in their middle."""

    table_format: Annotated[String, one_of("iceberg", ignore_case=True)] = key(
        "table.format", "iceberg", doc="Rows are appended to Iceberg tables.", importance="low", group="Iceberg"
    )
    format_class: Annotated[
        ClassName, BeforeValidator(any_package), one_class(PARQUET_FORMAT), OneOf((PARQUET_FORMAT,))
    ] = key("format.class", PARQUET_FORMAT, doc="The files of tables are Parquet.", importance="low", group="Iceberg")
    bucket: String = key(
        "s3.bucket.name", "", importance="low", group="S3", harmless="a name in the store",
        doc="The bucket, where iceberg.catalog.warehouse does not say it.",
    )  # fmt: skip
    null_values: Annotated[String, one_of("fail", "ignore", ignore_case=True)] = key(
        "behavior.on.null.values", "ignore", group="Format",
        doc="Records with a null value: ignore leaves them out, as Java's sink does, fail makes them bad rows.",
    )  # fmt: skip
    flush_size: Annotated[Int, at_least(1)] = key(
        "flush.size", 1_000_000, doc="Records of a table and task after which they are committed.", group="Rotation"
    )
    rotate_schedule_ms: Annotated[Long, off_or_positive] = key(
        "iceberg.control.commit.interval-ms", 300_000, group="Rotation", doc="How often what came is committed."
    )
    tables: ListOf = key(
        "iceberg.tables", (), importance="high", group="Iceberg",
        doc="The tables, each with its namespace; without a route-field each of them gets all rows.",
    )  # fmt: skip
    dynamic: Boolean = key(
        "iceberg.tables.dynamic-enabled", False, group="Iceberg",
        doc="Whether the value of iceberg.tables.route-field, in small letters, is the name of a row's table.",
    )  # fmt: skip
    route_field: String = key(
        "iceberg.tables.route-field", "", group="Iceberg",
        doc="The field that says which tables a row goes to: those of whose iceberg.table.NAME.route-regex its whole "
        "value is. Rows of no table are left out, as in Java.",
    )  # fmt: skip
    auto_create: Boolean = key(
        "iceberg.tables.auto-create-enabled", False, group="Iceberg", doc="Whether tables that are not there are made."
    )
    evolves_schema: Boolean = key(
        "iceberg.tables.evolve-schema-enabled", False, group="Iceberg",
        doc="Whether new fields become columns, and int long, float double; else rows that need it are bad.",
    )  # fmt: skip
    partition_by: Annotated[String, AfterValidator(_check_partition_by)] = key(
        "iceberg.tables.default-partition-by", "", group="Iceberg",
        doc="Partitions of tables that the sink makes, such as day(at), bucket(id, 16).",
    )  # fmt: skip
    upsert: Boolean = key(
        "iceberg.tables.upsert-mode-enabled",
        False,
        importance="low",
        group="Iceberg",
        doc="Refused: rows are appended.",
    )
    cdc_field: String = key(
        "iceberg.tables.cdc-field", "", importance="low", group="Iceberg", doc="Refused: rows are appended."
    )
    control_topic: String = key(
        "iceberg.control.topic", "", importance="low", group="Iceberg",
        doc="Nothing is written to it: each task commits its own rows, and a table's snapshots hold the offsets.",
    )  # fmt: skip

    @classmethod
    def current_names(cls, properties: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the properties, with those of the catalogue under the names of the S3 sink."""
        named = super().current_names(properties)
        for ours, theirs in ((v, f"{_PREFIX}{k}") for k, v in _SAME.items()):
            if named.get(theirs) is not None:
                named.setdefault(ours, named[theirs])
        implementation = (named.get(f"{_PREFIX}catalog-impl") or "").rpartition(".")[2]
        kind = named.get(f"{_PREFIX}type") or _IMPLEMENTATIONS.get(implementation, "")
        named[f"{_PREFIX}type"] = "sql" if kind == "jdbc" else kind
        if (uri := named.get(f"{_PREFIX}uri") or "").startswith("jdbc:"):
            named[f"{_PREFIX}uri"] = _of_sqlalchemy(uri, named)
        named.update({k: v for k, v in _place(named.get(f"{_PREFIX}warehouse") or "").items() if k not in properties})
        return named

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what is wrong between keys, and the settings that this sink cannot obey."""
        yield from super().problems()
        for name, given in (("upsert-mode-enabled", self.upsert), ("cdc-field", self.cdc_field)):
            if given:
                yield ConfigProblem(
                    f"iceberg.tables.{name}",
                    "Rows are appended to tables here. Leave it out, and merge what was appended by a query.",
                )
        yield from self._branch_problems()
        if not self.dynamic and not self.tables:
            yield ConfigProblem("iceberg.tables", "Give iceberg.tables, or iceberg.tables.dynamic-enabled=true.")
        if self.dynamic and not self.route_field:
            yield ConfigProblem("iceberg.tables.route-field", "iceberg.tables.dynamic-enabled=true needs it.")
        for table in self.tables:
            if "." not in table or not all(table.split(".")):
                yield ConfigProblem("iceberg.tables", f"{table!r} has no namespace: write it as shop.orders.")
        for table, pattern in self._patterns():
            try:
                compile_pattern(pattern)
            except JavaPatternError as error:
                yield ConfigProblem(f"iceberg.table.{table}.route-regex", f"It is no regular expression: {error}")
        if not self.bucket and self.catalog_type != "rest":
            yield ConfigProblem(f"{_PREFIX}warehouse", "Give the place of the tables, such as s3://bucket/folder.")

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield the notes of the S3 sink, and the keys of one table that have no effect."""
        yield from super().notes()
        for name in self.originals:
            if name.startswith("iceberg.table.") and not (_REGEX.fullmatch(name) or name.endswith(".commit-branch")):
                yield ConfigProblem(
                    name,
                    "It has no effect here: of the keys of one table only route-regex counts. Partitions of tables "
                    "that the sink makes are told by iceberg.tables.default-partition-by.",
                )

    def _branch_problems(self) -> Iterator[ConfigProblem]:
        for name, value in self.originals.items():
            of_table = name.startswith("iceberg.table.") and name.endswith(".commit-branch")
            if (of_table or name == _BRANCH) and value not in {"", _MAIN}:
                yield ConfigProblem(name, "Rows are committed to the branch main alone. Leave it out.")

    @property
    def creates_tables(self) -> bool:
        """Return True if missing tables are made."""
        return self.auto_create

    @property
    def routes(self) -> Mapping[str, str]:
        """Return the patterns of route-regex by the tables that have one."""
        return dict(self._patterns())

    def table_of(self, topic: str) -> str:
        """Return the topic itself: batches have the name of their table as topic, as they were routed before."""
        return topic

    def _patterns(self) -> Iterator[tuple[str, str]]:
        for name, value in self.originals.items():
            if found := _REGEX.fullmatch(name):
                yield found[1], value


def _of_sqlalchemy(uri: str, named: Mapping[str, str | None]) -> str:
    """Return SQLAlchemy's URL for the JDBC URL of a catalogue.

    Any other URL is returned unchanged, and refused later.
    """
    kind, _, rest = uri.removeprefix("jdbc:").partition(":")
    if kind not in _DATABASES:
        return uri
    if kind == "sqlite":
        return f"sqlite:///{rest.removeprefix('file:')}"
    user, password = (quote(named.get(f"{_PREFIX}jdbc.{part}") or "", safe="") for part in ("user", "password"))
    parts = urlsplit(f"{_DATABASES[kind]}:{rest}")
    login = f"{user}:{password}@" if user else ""
    return urlunsplit(parts._replace(netloc=f"{login}{parts.netloc}"))


def _place(warehouse: str) -> dict[str, Any]:
    """Return the store's settings for a warehouse; none if it is a name that only a REST catalogue knows."""
    parts = urlsplit(warehouse)
    if parts.scheme in {"s3", "s3a", "s3n"}:
        return {"s3.bucket.name": parts.netloc, "topics.dir": parts.path.strip("/")}
    if parts.scheme == "file":
        return {"storage.class": LOCAL_STORAGE, "s3.bucket.name": unquote(parts.path), "topics.dir": ""}
    return {}
