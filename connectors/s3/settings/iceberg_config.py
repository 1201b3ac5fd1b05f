"""Declares the settings of the S3 sink for Iceberg tables and their catalogue. It has values only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr

from connect.api.config import Boolean, Password, String, key, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.url import Url, UrlText
from connectors.s3.formats.format_specs import FORMATS, PARQUET_FORMAT
from connectors.s3.settings.classes import DEFAULT_CREDENTIALS, HDFS_STORAGE, known_class, simple_name
from connectors.s3.settings.credentials import ANONYMOUS, ROLE, STATIC
from connectors.s3.settings.format_config import FormatConfig
from connectors.s3.settings.partition_by import PartitionField, parse_partition_by
from connectors.s3.settings.sql_address import sql_server, sqlite_file

_FILES_ONLY: Final = (
    "rotate.interval.ms", "partitioner.class", "partition.field.name", "partition.field.drop",
    "s3.schema.partition.affix.type", "store.kafka.keys", "store.kafka.headers", "s3.sse.customer.key",
    "s3.acl.canned", "s3.object.tagging", "s3.wan.mode",
)  # fmt: skip
"""These keys are for objects that the sink names itself, and are refused with tables."""


def _check_table(value: str) -> str:
    if not all(value.split(".")) or "." not in value:
        raise ValueError("Give a namespace and a table with a dot between, such as lake.${topic}")
    return value


def _check_partition_by(value: str) -> str:
    parse_partition_by(value)
    return value


class IcebergConfig(FormatConfig):
    """Holds the keys of the group Iceberg."""

    table_format: Annotated[String, one_of("none", "iceberg", ignore_case=True)] = key(
        "table.format", "none", doc="iceberg: rows are appended to Iceberg tables in s3.bucket.name, below topics.dir.",
        group="Iceberg",
    )  # fmt: skip
    catalog: Annotated[String, non_empty] = key(
        "iceberg.catalog",
        "iceberg",
        harmless="a name; pyiceberg's own files and environment are not read by it",
        doc="The catalogue's name.",
        importance="low",
        group="Iceberg",
    )
    catalog_type: Annotated[String, one_of("", "sql", "rest", "glue", "hive")] = key(
        "iceberg.catalog.type", "", doc="What keeps the tables: sql (SQLite, PostgreSQL, MySQL), rest, glue, hive.",
        group="Iceberg",
    )  # fmt: skip
    catalog_uri: Url = key(
        "iceberg.catalog.uri", UrlText(""),
        reach=(Reach.URL, Reach.HOST, Reach.FILE),
        bounds="rest: HTTP. sql: databases of a fixed list with parameters of a fixed list; of SQLite as any file",
        doc="Where the catalogue is, such as "
        "postgresql+psycopg://user:password@host/db or https://host/catalog.", group="Iceberg",
    )  # fmt: skip
    catalog_credential: Password = key(
        "iceberg.catalog.credential", SecretStr(""),
        harmless="a secret",
        doc="rest: id:secret that a token is asked for with.",
        group="Iceberg",
    )  # fmt: skip
    catalog_token: Password = key(
        "iceberg.catalog.token", SecretStr(""), harmless="a secret", doc="rest: the token itself.", group="Iceberg"
    )
    catalog_warehouse: String = key(
        "iceberg.catalog.warehouse", "", importance="low", group="Iceberg", harmless="the catalogue finds it",
        doc="rest: the name or place of the warehouse, where the catalogue keeps several.",
    )  # fmt: skip
    table_name: Annotated[String, AfterValidator(_check_table)] = key(
        "iceberg.table", "default.${topic}", doc="Namespace and name of the table; dots of a topic become _.",
        group="Iceberg",
    )  # fmt: skip
    partition_by: Annotated[String, AfterValidator(_check_partition_by)] = key(
        "iceberg.partition.by", "", doc="Partitions of tables that the sink makes, such as day(at), bucket(id, 16), "
        "region; also year, month, hour, truncate(name, 4).", group="Iceberg",
    )  # fmt: skip
    evolves_schema: Boolean = key(
        "iceberg.evolve.schema", True, doc="New fields become columns, and int becomes long, float double; false: rows "
        "that need it are bad rows.", group="Iceberg",
    )  # fmt: skip

    @property
    def is_iceberg(self) -> bool:
        """Return True if rows go into Iceberg tables."""
        return self.table_format.lower() == "iceberg"

    @property
    def partition_fields(self) -> tuple[PartitionField, ...]:
        """Return the fields that iceberg.partition.by names."""
        return parse_partition_by(self.partition_by)

    @property
    def creates_tables(self) -> bool:
        """Return True if missing tables are made."""
        return True

    def table_of(self, topic: str) -> str:
        """Return the table to which the rows of a topic go."""
        return self.table_name.replace("${topic}", topic.replace(".", "_"))

    def iceberg_problems(self) -> Iterator[ConfigProblem]:
        """Yield what is wrong between keys of this group."""
        if not self.is_iceberg:
            return
        if self.storage_class == HDFS_STORAGE:
            yield ConfigProblem("table.format", "The client of Iceberg tables does not write to HDFS.")
        if not FORMATS[self.format_class].fits_iceberg:
            yield ConfigProblem("format.class", f"The files of Iceberg tables are Parquet: use {PARQUET_FORMAT}.")
        yield from self._catalog_problems()
        if self.schema_compatibility.upper() != "NONE":
            yield ConfigProblem("schema.compatibility", "What a changed schema does is said by iceberg.evolve.schema.")
        yield from self._credentials_problems()
        for name in _FILES_ONLY:
            if self.originals.get(name, "").lower() not in {"", "-1", "false", "none"} and not self._is_default(name):
                yield ConfigProblem(
                    name, f"{name} is for files that are named by the sink, not for table.format=iceberg."
                )

    def _catalog_problems(self) -> Iterator[ConfigProblem]:
        if not self.catalog_type:
            yield ConfigProblem("iceberg.catalog.type", "table.format=iceberg needs iceberg.catalog.type.")
        if not self.catalog_uri and self.catalog_type != "glue":
            yield ConfigProblem("iceberg.catalog.uri", f"iceberg.catalog.type={self.catalog_type} needs this address.")
        elif self.catalog_type == "sql":
            yield from self._sql_problems()
        if self.catalog_type == "rest" and urlsplit(self.catalog_uri).scheme not in {"http", "https"}:
            yield ConfigProblem("iceberg.catalog.uri", "Give an http or https address.")

    def named_files(self) -> Iterable[tuple[str, str]]:
        """Yield the files that the store's settings name, and the file of a catalogue in SQLite."""
        yield from super().named_files()
        if self.is_iceberg and self.catalog_type == "sql":
            with suppress(ValueError):  # told by iceberg_problems
                yield from (("iceberg.catalog.uri", path) for path in (sqlite_file(self.catalog_uri),) if path)

    def named_hosts(self) -> Iterable[tuple[str, str]]:
        """Yield the servers that the settings name.

        The server of a catalogue's database is the one SQLAlchemy reads.
        """
        is_sql = self.is_iceberg and self.catalog_type == "sql"
        yield from (named for named in super().named_hosts() if not (is_sql and named[0] == "iceberg.catalog.uri"))
        if is_sql and self.catalog_uri:
            with suppress(ValueError):  # told by iceberg_problems
                yield from (("iceberg.catalog.uri", at) for at in (sql_server(self.catalog_uri),) if at)

    def _sql_problems(self) -> Iterator[ConfigProblem]:
        try:
            sqlite_file(self.catalog_uri)
        except ValueError as error:
            yield ConfigProblem("iceberg.catalog.uri", f"iceberg.catalog.uri: {error}.")

    def _credentials_problems(self) -> Iterator[ConfigProblem]:
        provider = simple_name(self.credentials_provider)
        if provider == ROLE and self.role_external_id:
            yield ConfigProblem(
                "s3.credentials.provider.sts.role.external.id",
                "The client of Iceberg tables assumes roles without an external id.",
            )
        known = {simple_name(DEFAULT_CREDENTIALS), ANONYMOUS, ROLE, *STATIC}
        if not self.access_key_id and provider not in known:
            yield ConfigProblem(
                "s3.credentials.provider.class",
                "The client of Iceberg tables asks Amazon's default chain; use DefaultCredentialsProvider.",
            )

    def _is_default(self, name: str) -> bool:
        default = next(definition.default for definition in self.definitions() if definition.name == name)
        return known_class(self.originals[name]) == default
