"""Defines which values a setting may have: types, and checks that REST answers, forms and the reference also show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ConfigType(StrEnum):
    """Names the types of settings, which are those of Kafka's ConfigDef. REST clients know these, and a further one
    would break them.
    """

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105 - the name of a type


@dataclass(frozen=True, slots=True)
class OneOf:
    """Accepts a value, or a list, if each value is one of `values`; these are also the recommended values."""

    values: tuple[str, ...]
    ignore_case: bool = False

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, value: object) -> object:
        known = {v.lower() for v in self.values} if self.ignore_case else set(self.values)
        for part in value if isinstance(value, tuple) else (value,):
            if (str(part).lower() if self.ignore_case else part) not in known:
                how = " (case insensitive)" if self.ignore_case else ""
                raise ValueError(f"String must be one of{how}: {', '.join(self.values)}")
        return value


@dataclass(frozen=True, slots=True)
class Range:
    """Accepts a number that is at least `least` and at most `most`; if `most` is None, there is no upper limit."""

    least: float
    most: float | None = None

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __str__(self) -> str:
        return f"at least {self.least}" if self.most is None else f"{self.least} to {self.most}"

    def _check(self, value: float) -> float:
        if value < self.least:
            raise ValueError(f"Value must be at least {self.least}")
        if self.most is not None and value > self.most:
            raise ValueError(f"Value must be no more than {self.most}")
        return value


@dataclass(frozen=True, slots=True)
class KeyValue:
    """Holds a setting's value as given, and its errors. A secret's value is `[hidden]`."""

    name: str
    value: str | None
    errors: tuple[str, ...] = ()
    recommended_values: tuple[str, ...] = ()
    visible: bool = True
