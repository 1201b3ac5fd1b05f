"""Changes names of schemas and fields that Avro does not allow, as Debezium does. Pure.

Source: Debezium 3's documentation of schema.name.adjustment.mode and field.name.adjustment.mode.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

NONE: Final = "none"
MODES: Final = (NONE, "avro", "avro_unicode")
_DIGITS: Final = "0123456789"


def schema_names(mode: str) -> Callable[[str], str]:
    """Return a function that makes a schema's name one that a mode allows: parts with dots between them."""
    return _adjuster(mode, ".")


def field_names(mode: str) -> Callable[[str], str]:
    """Return a function that makes a field's name one that a mode allows."""
    return _adjuster(mode, "")


def _adjuster(mode: str, also: str) -> Callable[[str], str]:
    if mode == NONE:
        return lambda name: name
    # With avro_unicode an underscore is the sign of an escape, so that it is not allowed itself.
    first, escape = ("A-Za-z_", _underscore) if mode == "avro" else ("A-Za-z", _escaped)
    wrong_first, wrong_later = re.compile(f"[^{first}]"), re.compile(f"[^{first}0-9{also}]", re.DOTALL)

    def adjusted(name: str) -> str:
        if wrong_first.match(name):
            kept = name[0] if mode == "avro" and name[0] in _DIGITS else ""
            return escape(name[0]) + kept + wrong_later.sub(lambda found: escape(found[0]), name[1:])
        return wrong_later.sub(lambda found: escape(found[0]), name)

    return adjusted


def _units(letter: str) -> list[int]:
    """Return the numbers that a letter has in Java, which are two beyond 16 bits."""
    octets = letter.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(octets[at : at + 2], "big") for at in range(0, len(octets), 2)]


def _underscore(letter: str) -> str:
    return "_" * len(_units(letter))


def _escaped(letter: str) -> str:
    # Numbers of three digits are not filled up, as in Debezium.
    numbers = (f"{unit:x}" for unit in _units(letter))
    return "".join(f"_u00{number}" if len(number) <= 2 else f"_u{number}" for number in numbers)
