"""Makes and fills the tables of orders that sources of public configurations read, and returns their rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

_MOMENT = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
_NOW = {"postgresql": "now()", "mysql": "CURRENT_TIMESTAMP(6)", "mariadb": "CURRENT_TIMESTAMP(6)"}


@dataclass(frozen=True)
class Tables:
    """Holds tables of one database, by schema and name; those of an outbox have each order as a message."""

    engine: sa.Engine
    names: Sequence[tuple[str | None, str]]
    is_outbox: bool = False

    def make(self) -> None:
        with self.engine.begin() as session:
            for schema in {schema for schema, _ in self.names if schema}:
                session.execute(sa.schema.CreateSchema(schema, if_not_exists=True))
            for table in self._tables():
                table.create(session)

    def insert(self, count: int = 3) -> None:
        """Add rows behind the existing ones to every table."""
        with self.engine.begin() as session:
            for table in self._tables():
                begin = session.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
                rows = [{"id": n, "product": f"{table}-{n}"} for n in range(begin + 1, begin + count + 1)]
                session.execute(sa.insert(table), [self._message(row) if self.is_outbox else row for row in rows])

    def rows(self) -> list[Mapping[str, Any]]:
        """Return the present rows of all tables."""
        with self.engine.connect() as session:
            found = [dict(row) for table in self._tables() for row in session.execute(sa.select(table)).mappings()]
        return [json.loads(row["payload"]) for row in found] if self.is_outbox else found

    def among(self, wanted: re.Pattern[str]) -> Tables:
        """Return the tables whose full names match."""
        kept = [(schema, name) for schema, name in self.names if wanted.fullmatch(f"{schema}.{name}")]
        return Tables(self.engine, kept, self.is_outbox)

    def _tables(self) -> Iterator[sa.Table]:
        now = sa.text(_NOW.get(self.engine.dialect.name, "CURRENT_TIMESTAMP"))
        for schema, name in self.names:
            columns = (
                [sa.Column(text, sa.String(255)) for text in ("aggregatetype", "aggregateid", "type", "payload")]
                if self.is_outbox
                else [
                    sa.Column("product", sa.String(255)),
                    sa.Column("city_id", sa.Integer, server_default="1"),
                    sa.Column("updated", _MOMENT, server_default=now, nullable=False),
                ]
            )
            kind = sa.String(36) if self.is_outbox else sa.Integer
            yield sa.Table(name, sa.MetaData(), sa.Column("id", kind, primary_key=True), *columns, schema=schema)

    def _message(self, row: Mapping[str, Any]) -> dict[str, str]:
        return {
            "id": str(row["id"]), "aggregatetype": "order", "aggregateid": str(row["id"]), "type": "made",
            "payload": json.dumps(row),
        }  # fmt: skip
