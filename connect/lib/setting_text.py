"""Reads and formats the text of settings as ConfigDef does. Pure.

Source: org.apache.kafka.common.config.ConfigDef (Kafka 4.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import SecretStr

from connect.lib.javatext.numbers import parse_real, parse_whole
from connect.lib.secrets import HIDDEN

_BLANK: Final = "".join(map(chr, range(33)))
"""Java's `String.trim` removes these characters: controls and the space, but no spaces of other scripts."""
ZONE_CHARS_MAX: Final = 100
"""No zone has a longer name. Python would also search a long name as a module, with a package for each part of it."""
_SPACE: Final = " \t\n\r\f\v"


def parse_boolean(value: object) -> object:
    """Return a BOOLEAN as ConfigDef reads its text. ValueError: the text is none."""
    text = value.strip(_BLANK).lower() if isinstance(value, str) else value
    if text in {"true", True}:
        return True
    if text in {"false", False}:
        return False
    raise ValueError("Expected value to be either true or false")


def whole_parser(name: str, bits: int) -> Callable[[object], object]:
    """Return a function that reads a whole number of `bits` bits as ConfigDef does; errors name its type `name`."""

    def parse(value: object) -> object:
        try:
            number = parse_whole(value.strip(_BLANK), bits) if isinstance(value, str) else value
        except ValueError:
            number = None
        if (
            isinstance(number, bool)
            or not isinstance(number, int)
            or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)
        ):
            raise ValueError(f"Not a number of type {name}")
        return number

    return parse


def parse_double(value: object) -> object:
    """Return a DOUBLE as ConfigDef reads its text. ValueError: the text is none."""
    try:
        return parse_real(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("Not a number of type DOUBLE") from None


def parse_list(value: object) -> object:
    """Return a LIST as ConfigDef reads its text."""
    if isinstance(value, str):
        text = value.strip(_BLANK)
        return tuple(part.strip(_SPACE) for part in text.split(",")) if text else ()
    return value


def parse_text(value: object) -> object:
    """Return a STRING as ConfigDef reads it: trimmed."""
    return value.strip(_BLANK) if isinstance(value, str) else value


def text_of(value: object) -> str | None:
    """Return a value in ConfigDef's text form; a secret becomes `[hidden]`, None stays None."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case tuple() | list():
            return ",".join(str(part) for part in value)
        case SecretStr():
            return HIDDEN
        case _:
            return str(value)


def named_zone(name: str) -> ZoneInfo:
    """Return the time zone of an IANA name. ValueError: there is no such zone."""
    if len(name) > ZONE_CHARS_MAX:
        raise ValueError(f"A time zone's name has at most {ZONE_CHARS_MAX} characters")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(f"There is no time zone {name}") from error
