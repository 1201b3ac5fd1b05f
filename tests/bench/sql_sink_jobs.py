"""Defines the measured jobs of the JDBC sink: batches of columns into a table, and the same rows by a driver's
executemany.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import pyarrow as pa
import sqlalchemy as sa

from connect.api.allowed_paths import EVERYWHERE
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.jdbc.sink.settings.config import JdbcSinkConfig
from connectors.jdbc.sink.sink import JdbcSinkConnector
from tests.bench.measure import Figure, measure
from tests.bench.rows import NAMES, SCHEMA, plain_rows, struct_array
from tests.bench.sql_jobs import DRIVERS

Settings = Mapping[str, str]
BATCH_ROWS = 2000
"""About what a poll gives of a partition."""


def rows_into_table(settings: Settings) -> Figure:
    """Batches as a converter gives them, each a transaction; with `mode` upsert of keys that are new."""
    e = settings
    where = f"{e['host']}:{e['port']}/{e['database']}"
    config = {
        "connection.url": f"jdbc:{e['dialect']}://{where}", "connection.user": e["user"],
        "connection.password": e["password"], "auto.create": "true", "pk.mode": "record_value", "pk.fields": "id",
        "insert.mode": e["mode"], "table.name.format": f"sink_{e['mode']}_{e['number']}",
    }  # fmt: skip
    task = JdbcSinkConnector(JdbcSinkConfig.parse({**config, **EVERYWHERE})).task({**config, **EVERYWHERE})
    task.open(FakeSinkContext())
    first, *batches = list(_batches(int(e["rows"])))
    task.put(first, Deadline.after(60))  # makes the table

    def work() -> int:
        for batch in batches:
            task.put(batch, Deadline.after(60))
        return sum(len(batch) for batch in batches)

    figure = measure(work)
    task.close()
    return figure


def executemany_into_table(settings: Settings) -> Figure:
    """SQLAlchemy's insert of Python rows, in transactions of as many rows."""
    e = settings
    url = sa.URL.create(DRIVERS[e["dialect"]], e["user"], e["password"], e["host"], int(e["port"]), e["database"])
    table = sa.Table(f"peer_{e['number']}", sa.MetaData(), *(_column(field.name) for field in SCHEMA.fields))
    engine = sa.create_engine(url)
    table.create(engine)
    values = [dict(zip(NAMES, _bound(row), strict=True)) for row in plain_rows(int(e["rows"]))]

    def work() -> int:
        with engine.connect() as connection:
            for start in range(0, len(values), BATCH_ROWS):
                with connection.begin():
                    connection.execute(table.insert(), values[start : start + BATCH_ROWS])
        return len(values)

    figure = measure(work)
    engine.dispose()
    return figure


def _batches(rows: int) -> Iterator[Batch]:
    for start in range(0, rows, BATCH_ROWS):
        values = struct_array(BATCH_ROWS, start)
        offsets = pa.array(range(start, start + BATCH_ROWS), pa.int64())
        consumed = Consumed(TopicPartition("bench", 0), offsets, start + BATCH_ROWS)
        yield Batch("bench", Column.from_arrow(values, SCHEMA), partition=0, consumed=consumed)


def _bound(row: tuple) -> list[object]:
    return [*row[:-2], *(datetime.fromtimestamp(ms / 1000, UTC).replace(tzinfo=None) for ms in row[-2:])]


def _column(name: str) -> sa.Column:
    kind = {
        "id": sa.BigInteger(), "account": sa.BigInteger(), "quantity": sa.Integer(), "status": sa.Integer(),
        "price": sa.Double(), "discount": sa.Double(), "paid": sa.Boolean(), "created": sa.DateTime(),
        "updated": sa.DateTime(),
    }.get(name, sa.Text())  # fmt: skip
    return sa.Column(name, kind, primary_key=name == "id", autoincrement=False)
