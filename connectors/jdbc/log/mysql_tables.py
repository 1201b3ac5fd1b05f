"""Tables of MariaDB and MySQL for mode=log: columns' plans, keys and event formats, and rows of the log as Arrow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from connect.api import schema as s
from connect.api.errors import ConnectError
from connectors.jdbc.catalog import describe
from connectors.jdbc.columns import RowFormat, TimeRules
from connectors.jdbc.config import JdbcSourceConfig
from connectors.jdbc.database import Database
from connectors.jdbc.log.binlog import TableMap
from connectors.jdbc.log.binlog_values import LoggedColumn, Read
from connectors.jdbc.log.envelope import EventFormat, source_schema
from connectors.jdbc.mysql_arrow import driver_columns
from connectors.jdbc.ragged import PADDING, Fields, counted_fields
from connectors.jdbc.tables import TableName, topic_of
from connectors.jdbc.types import Projection
from connectors.jdbc.zone import zone

_CODECS = {"utf8mb4": "", "utf8mb3": "", "utf8": "", "ascii": "", "binary": "", "latin1": "cp1252", "ucs2": "utf-16-be"}
_INT64, _STRING = s.INT64.as_optional(), s.STRING.as_optional()


def binlog_source(connector: str) -> s.Schema:
    """The schema of `source` of these databases."""
    members = {
        "table": _STRING, "server_id": s.INT64, "gtid": _STRING, "file": s.STRING, "pos": s.INT64, "row": s.INT32,
        "thread": _INT64, "query": _STRING,
    }  # fmt: skip
    return source_schema(connector, members)


@dataclass(frozen=True, slots=True)
class BinlogTable:
    """One table with the columns it has now."""

    name: TableName
    format: RowFormat
    events: EventFormat
    logged: tuple[LoggedColumn, ...]

    def fits(self, mapped: TableMap) -> bool:
        """Whether rows of the log have as many columns."""
        return len(mapped.kinds) == len(self.logged)

    def readers(self, mapped: TableMap) -> list[Read]:
        """How rows of the log are read. ConnectError: they have other columns than the table has now."""
        if not self.fits(mapped):
            raise ConnectError(
                f"The binary log has {len(mapped.kinds)} columns of table {self.name.full}, which has "
                f"{len(self.logged)} now: it was altered since.",
                fix="Reset the connector's offsets, so that the tables are read anew, or leave the table out.",
            )
        return mapped.readers(self.logged)

    def widened(self, rows: Sequence[bytes]) -> BinlogTable:
        """The table with columns nullable that hold NULL in rows from before they became NOT NULL."""
        fields = _fields(rows, len(self.logged))
        pairs = list(zip(self.format.columns, fields, strict=True))
        if not any((f.size < 0).any() and not p.schema.optional for p, f in pairs):
            return self
        plans = [
            replace(p, schema=p.schema.as_optional(p.schema.optional or bool((f.size < 0).any()))) for p, f in pairs
        ]
        form = RowFormat(self.format.table, self.format.schema.name or "", plans, self.format.times)
        return replace(self, format=form, events=replace(self.events, row=form.schema))

    def rows(self, rows: Sequence[bytes]) -> pa.StructArray:
        """Rows of the text protocol as Arrow."""
        columns = driver_columns(self.format, _fields(rows, len(self.logged)))
        return self.format.of_driver_arrays(columns)


def _fields(rows: Sequence[bytes], count: int) -> list[Fields]:
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    buffer = bytearray(b"".join(rows)) + bytes(PADDING)
    return counted_fields(buffer, np.cumsum(sizes) - sizes, count)


def plan_table(database: Database, name: TableName, config: JdbcSourceConfig, connector: str) -> BinlogTable:
    """A table as it is now. ConnectError when it is not there."""
    shape = describe(database, name, config)
    statement = sa.text(
        "SELECT column_name, data_type, column_type, character_set_name FROM information_schema.columns "
        "WHERE table_schema = :schema AND table_name = :name ORDER BY ordinal_position"
    ).bindparams(schema=name.schema, name=name.name)
    found = {str(row[0]): row for row in database.rows(statement, f"reading the types of table {name.full}")}
    database.end_transaction()
    topic = topic_of(name, config)
    times = TimeRules(zone(config.db_timezone), config.timestamp_granularity, config.zero_date_handling)
    form = RowFormat(name.full, f"{topic}.Value", shape.columns, times)
    logged = []
    for plan in shape.columns:
        _, kind, text, charset = found[plan.name]
        logged.append(
            LoggedColumn(
                plan.name,
                "unsigned" in str(text).lower(),
                _members(str(text)) if str(kind).lower() in {"enum", "set"} else (),
                "" if charset is None else _CODECS.get(str(charset), str(charset)),
                plan.projection is Projection.INTEGER_OF_BIT,
                str(kind).lower(),
            )
        )
    events = EventFormat(topic, form.schema, shape.primary, binlog_source(connector))
    return BinlogTable(name, form, events, tuple(logged))


def _members(text: str) -> tuple[str, ...]:
    return tuple(part.replace("''", "'") for part in re.findall(r"'((?:[^']|'')*)'", text))
