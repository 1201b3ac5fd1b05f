"""Turns rows of PostgreSQL and MariaDB into Arrow columns in C++, if the installation found a compiler.

Without it the ADBC driver and NumPy do the same work, and their results count as right. `read_text_rows` and
`read_binary_rows` return the same results, or None for rows that they leave to the others. `CONNECT_NATIVE=off`
switches the native code off.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from connect.lib.native_build import load


@cache
def module() -> ModuleType | None:
    """Return the compiled module, or None if it is switched off or was not built."""
    sources = Path(__file__).parent / "src"
    return load("connectors.jdbc.native._rows", sources, of="the JDBC source", otherwise="rows are read")


@cache
def libpq_module() -> ModuleType | None:
    """Return the module, bound to the libpq that psycopg brings along; None without either of them."""
    native = module()
    if native is None:
        return None
    try:
        bundled = [f for f in files("psycopg-binary") or () if f.name.startswith("libpq-")]
    except PackageNotFoundError:
        return None
    from psycopg import pq

    if pq.__impl__ != "binary" or len(bundled) != 1:
        return None
    native.bind_libpq(str(bundled[0].locate()))
    return native


class _Capsules:
    def __init__(self, capsules: tuple[object, object]) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


def columns_of(capsules: tuple[object, object]) -> list[pa.Array]:
    """Return the columns that a function of the module made."""
    made: Any = pa.array(_Capsules(capsules))
    return list(made.flatten())
