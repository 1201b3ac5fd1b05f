"""Defines the measured jobs of SQL servers: a table of twelve columns and 940 bytes of JSON a row, ours and its
peers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import sqlalchemy as sa

from tests.bench.measure import Figure, measure
from tests.bench.producing import new_producer, produce, produce_again

Settings = Mapping[str, str]
TABLE = "bench"
DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mariadb+pymysql"}
READY_ROWS = 10_000
NAMES = (
    "id", "customer", "quantity", "priority", "price", "weight", "paid", "created", "changed", "sku", "city", "note",
)  # fmt: skip
_PHRASE = (
    "The customer called about an order that was sent to the wrong address; the parcel came back to the store unopened "
    "and was sent again on the next day by another carrier, with a letter that says why it took so long. A refund of "
    "the delivery was offered and accepted. No other article of this order is open, and nothing was paid twice: see "
    "also the note of the warehouse, which counted the shelf again and found all pieces where they belong, 12 of 12."
)
"""Text that lz4 shortens; the md5 sums before it are what it does not."""
_NOTE = "concat({}, substr('{}', 1, {}))".format(
    ", ".join(f"md5(concat('{part}', seq))" for part in range(9)), _PHRASE, 704 - 9 * 32
)
_VALUES = (
    "seq, 1000000 + mod(seq, 50000), mod(seq, 90), mod(seq, 5), seq * 0.25, 1 + mod(seq, 1000) / 8.0, mod(seq, 3) = 0, "
    "{time}, {time}, concat('SKU-', lpad(concat(mod(seq, 100000), ''), 8, '0')), concat('city ', mod(seq, 700)), "
    + _NOTE
)
_TABLES = {
    "postgresql": "CREATE TABLE bench (id BIGINT PRIMARY KEY, customer BIGINT NOT NULL, quantity INT NOT NULL, "
    "priority SMALLINT NOT NULL, price DOUBLE PRECISION NOT NULL, weight DOUBLE PRECISION NOT NULL, "
    "paid BOOLEAN NOT NULL, created TIMESTAMP(3) NOT NULL, changed TIMESTAMPTZ(3) NOT NULL, sku VARCHAR(20) NOT NULL, "
    "city VARCHAR(40), note TEXT)",
    "mariadb": "CREATE TABLE bench (id BIGINT PRIMARY KEY, customer BIGINT NOT NULL, quantity INT NOT NULL, "
    "priority SMALLINT NOT NULL, price DOUBLE NOT NULL, weight DOUBLE NOT NULL, paid BOOLEAN NOT NULL, "
    "created DATETIME(3) NOT NULL, changed TIMESTAMP(3) NOT NULL, sku VARCHAR(20) NOT NULL, city VARCHAR(40), "
    "note TEXT)",
}
_SERIES = {"postgresql": "generate_series(1, {rows}) AS s (seq)", "mariadb": "seq_1_to_{rows}"}
_TIMES = {
    "postgresql": "timestamp '2024-01-01' + seq * interval '1 millisecond'",
    "mariadb": "'2024-01-01' + INTERVAL seq * 1000 MICROSECOND",
}


_SETTLED = {
    "postgresql": ("VACUUM (FREEZE, ANALYZE) bench", "CHECKPOINT"),
    "mariadb": ("ANALYZE TABLE bench", "FLUSH TABLES bench FOR EXPORT", "UNLOCK TABLES"),
}
"""What a server would do in the background, or leave to the first reader: its CPU time is no part of a measured job."""


def make_sql_table(settings: Settings) -> Figure:
    """The table, made by the server itself, and at rest."""
    dialect, rows = settings["dialect"], int(settings["rows"])

    def work() -> int:
        values = _VALUES.format(time=_TIMES[dialect])
        with _engine(settings).begin() as connection:
            connection.exec_driver_sql(_TABLES[dialect])
            series = _SERIES[dialect].format(rows=rows)
            connection.exec_driver_sql(f"INSERT INTO bench SELECT {values} FROM {series}")
        with _engine(settings).connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for statement in _SETTLED[dialect]:
                connection.exec_driver_sql(statement).close()
        return rows

    return measure(work)


def connector(settings: Settings) -> dict[str, str]:
    """The connector over the table."""
    return {
        "name": settings["topic"], "connector.class": "JdbcSourceConnector", "mode": "incrementing",
        "connection.url": f"jdbc:{settings['dialect']}://{settings['host']}:{settings['port']}/{settings['database']}",
        "connection.user": settings["user"], "connection.password": settings["password"],
        "table.whitelist": TABLE, "incrementing.column.name": "id", "topic.prefix": f"{settings['topic']}-",
        "batch.max.rows": "20000", "poll.interval.ms": "100", **json.loads(settings.get("connector", "{}")),
    }  # fmt: skip


def naive_sql(settings: Settings) -> Figure:
    """The peer: a server-side cursor, json.dumps and produce for each row."""
    target = new_producer(settings["bootstrap"])

    def work() -> int:
        sent = 0
        for row in _rows(settings):
            produce(target, settings["topic"], json.dumps(dict(zip(NAMES, row, strict=True)), default=str).encode())
            sent += 1
        target.flush()
        return sent

    return measure(work)


def produce_ready(settings: Settings) -> Figure:
    """The ceiling of Kafka: rows of the table as bytes that are ready, again and again."""
    some = {**settings, "rows": str(READY_ROWS)}
    values = [json.dumps(dict(zip(NAMES, row, strict=True)), default=str).encode() for row in _rows(some)]
    target = new_producer(settings["bootstrap"])
    return measure(lambda: produce_again(target, settings["topic"], values, int(settings["rows"])))


def copy_out(settings: Settings) -> Figure:
    """The ceiling of PostgreSQL: COPY in binary form, thrown away."""
    import psycopg

    arguments = {name: settings[name] for name in ("host", "port", "user", "password")}
    copy = "COPY (SELECT * FROM bench ORDER BY id) TO STDOUT (FORMAT binary)"

    def work() -> int:
        with (
            psycopg.connect(**arguments, dbname=settings["database"]) as connection,
            connection.cursor() as cursor,
            cursor.copy(copy) as out,
        ):
            for _ in out:
                pass
        return int(settings["rows"])

    return measure(work)


def _rows(settings: Settings) -> Iterator[Sequence[object]]:
    with _engine(settings).connect() as connection:
        raw = connection.connection.driver_connection
        if settings["dialect"] == "postgresql":
            cursor = raw.cursor(name="naive")
            cursor.itersize = 10_000
        else:
            from pymysql.cursors import SSCursor

            cursor = raw.cursor(SSCursor)
        cursor.execute(f"SELECT * FROM bench WHERE id <= {int(settings['rows'])} ORDER BY id")
        yield from cursor


def _engine(settings: Settings) -> sa.Engine:
    url = sa.URL.create(
        DRIVERS[settings["dialect"]], settings["user"], settings["password"], settings["host"], int(settings["port"]),
        settings["database"],
    )  # fmt: skip
    return sa.create_engine(url)
