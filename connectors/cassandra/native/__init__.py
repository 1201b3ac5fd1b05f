"""Turns the bytes of commit logs and pages into columns in C++, if the installation found a compiler.

Each function has a twin in Python, which defines the right result. The native code leaves any mutation or column to the
twin that it does not know in every detail. `CONNECT_NATIVE=off` switches the native code off.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType

import pyarrow as pa

from connect.lib.native_build import load


@cache
def module() -> ModuleType | None:
    """Return the compiled module; None if it is switched off or was not built."""
    sources = Path(__file__).parent / "src"
    name = "connectors.cassandra.native._cassandra"
    return load(name, sources, of="the Cassandra connectors", otherwise="commit logs and tables are read")


class _Capsules:
    def __init__(self, capsules: tuple[object, object]) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


def array_of(capsules: tuple[object, object]) -> pa.Array:
    """Return the Arrow array that a function of the compiled module made as a pair of capsules."""
    return pa.array(_Capsules(capsules))
