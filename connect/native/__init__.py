"""The hot loops in C++, where the install found a compiler; without them the same work is done by Arrow and NumPy.

Each function has a twin in Python that decides what is right: it gives the same result or None, "not mine", and then
the twin does the work. `CONNECT_NATIVE=off` leaves the native code out.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from types import ModuleType
from typing import Any, Final

import pyarrow as pa

_LOG: Final = logging.getLogger("connect.native")
_OFF: Final = frozenset({"off", "false", "0", "no"})


@cache
def module() -> ModuleType | None:
    """The compiled module; None where it is switched off or was not built, which is said once."""
    if os.environ.get("CONNECT_NATIVE", "").lower() in _OFF:
        _LOG.info("The native code is switched off by CONNECT_NATIVE; JSON and Kafka records go the slower way.")
        return None
    try:
        from connect.native import _connect
    except ImportError as error:
        _LOG.info(
            "The native code is not there (%s); JSON and Kafka records go the slower way. "
            "Install a C++17 compiler, then this package again, to have it.",
            error,
        )
        return None
    return _connect


def decode_json(data: pa.BinaryArray, wire: Any | None, *, head: int = 0, tail: int = 0) -> pa.StructArray | None:
    """JSON objects, one per row, as a struct column of the type `wire`, or of the type they have in common.

    The first `head` and the last `tail` bytes of each row are no part of it. Null bytes give a null row. None: not
    here, be it that a row is no strict JSON object, that types are mixed, or that a number needs a closer look.
    """
    native = module()
    if native is None:
        return None
    return _array(native.decode_json(data, wire, head, tail))


class _Capsules:
    """What the native code made, in the form that Arrow takes over without a copy."""

    def __init__(self, capsules: tuple[object, object]) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules


def _array(capsules: tuple[object, object] | None) -> Any | None:
    return None if capsules is None else pa.array(_Capsules(capsules))
