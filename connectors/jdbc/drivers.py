"""Which Python drivers, and which of their parameters, a connector may name.

Pure. A driver may load libraries and read files. Those that JDBC URLs are translated to are known well enough; others
are the worker's to allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

KEY: Final = "jdbc.sqlalchemy.drivers"
"""The worker's key that allows further drivers, and those known here with all of their parameters."""
_KNOWN: Final = frozenset({
    "sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg", "mysql+pymysql", "mariadb+pymysql",
})  # fmt: skip
_WIDE: Final[Mapping[str, str]] = {
    "plugin": "loads code into SQLAlchemy",
    "local_infile": "lets the server read files of this machine",
    "read_default_file": "reads a file of this machine",
    "read_default_group": "reads a file of this machine",
}


def driver_problems(url: str, properties: Mapping[str, str], allowed: Sequence[str]) -> Iterator[str]:
    """Why a worker that allows these drivers does not take a SQLAlchemy URL; the texts hold none of its values."""
    name = url.partition("://")[0].lower()
    if name in allowed:
        return
    if name not in _KNOWN:
        yield (
            f"this worker does not allow the driver {name}, as a driver's parameters may load code. List it in the "
            f"worker's {KEY}"
        )
        return
    given = dict(parse_qsl(url.partition("?")[2], keep_blank_values=True)) | dict(properties)
    for parameter, why in _WIDE.items():
        if parameter in given:
            yield f"the parameter {parameter} {why}. List {name} in the worker's {KEY} to allow it"


def names_engine(url: str, properties: Mapping[str, str]) -> bool:
    """Whether libpq would take a client's key from a library (`sslkey=engine:key`) and not from a file."""
    keys = [value for name, value in parse_qsl(re.sub("[;]", "&", url.partition("?")[2])) if name == "sslkey"]
    return any(":" in key for key in [*keys, properties.get("sslkey", "")])
