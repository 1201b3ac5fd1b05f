"""Parses CQL's types from the texts in which `system_schema` stores them. Pure.

Source: the serialisations of org.apache.cassandra.db.marshal, Cassandra 5.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from connect.api.errors import SchemaError

FIXED_SIZES: Final[Mapping[str, int]] = {
    "boolean": 1, "int": 4, "float": 4, "bigint": 8, "double": 8, "timestamp": 8, "uuid": 16, "timeuuid": 16,
    "empty": 0,
}  # fmt: skip
"""Maps each type whose values have one fixed size to this size in bytes; no length is written before such a value.

Values of tinyint, smallint, date, time and counter do have their length written before them.
"""
_SIMPLE: Final = frozenset(FIXED_SIZES) | {
    "ascii", "blob", "counter", "date", "decimal", "duration", "inet", "smallint", "text", "time", "tinyint", "varchar",
    "varint",
}  # fmt: skip
_COLLECTIONS: Final = {"list": 1, "set": 1, "map": 2}
_TOKEN: Final = re.compile(r"""\s*([<>,]|"(?:[^"]|"")*"|'[^']*'|[^<>,"'\s]+)""")


@dataclass(frozen=True, slots=True)
class CqlType:
    """Describes a CQL type.

    `name` is CQL's word, `udt` for a user-defined type, `custom` for a Java class without a CQL name.

    `parameters` holds the element type of a list, set or vector, the key and value types of a map, and the field types
    of a tuple or user-defined type. `fields` holds the names of a user-defined type's fields. `title` is the name of a
    user-defined type, or the Java class. `dimension` is the number of a vector's elements.
    """

    name: str
    parameters: tuple[CqlType, ...] = ()
    frozen: bool = False
    fields: tuple[str, ...] = ()
    title: str = ""
    dimension: int = 0

    @property
    def is_multicell(self) -> bool:
        """Return True if each element or field is stored as a separate cell with its own writetime."""
        return not self.frozen and self.name in {"list", "set", "map", "udt"}

    @property
    def fixed_size(self) -> int | None:
        """Return the size in bytes that every value has; None if each value has its length written before it."""
        if self.name == "vector":
            size = self.parameters[0].fixed_size
            return None if size is None else size * self.dimension
        return FIXED_SIZES.get(self.name)


UserTypes = Mapping[str, CqlType]
"""Maps the names of a keyspace's user-defined types to the types."""


def parse_type(text: str, user_types: UserTypes) -> CqlType:
    """Return the CQL type of a text such as `map<text, frozen<list<int>>>`.

    Raise SchemaError when a type is not known.
    """
    tokens = _TOKEN.findall(text)
    found, rest = _parse(tokens, user_types, text)
    if rest:
        raise SchemaError(f"The CQL type {text!r} goes on behind its end: {''.join(rest)!r}.")
    return found


def user_types_of(keyspace: str, definitions: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]) -> UserTypes:
    """Return the user-defined types of a keyspace by name; a type may hold others that are defined before or after it.

    `definitions` gives the field names and the type texts of each type. SchemaError: a field's type is not known.
    """
    made: dict[str, CqlType] = {}

    def add(name: str) -> None:
        fields, texts = definitions[name]
        # No type can hold itself, so this recursion ends.
        for other in definitions:
            if other not in made and any(other in _TOKEN.findall(text.replace('"', " ")) for text in texts):
                add(other)
        parameters = tuple(parse_type(text, made) for text in texts)
        made[name] = CqlType("udt", parameters, fields=fields, title=f"{keyspace}.{name}")

    for name in definitions:
        if name not in made:
            add(name)
    return made


def _parse(tokens: list[str], user_types: UserTypes, text: str) -> tuple[CqlType, list[str]]:
    if not tokens:
        raise SchemaError(f"The CQL type {text!r} ends too soon.")
    word, rest = tokens[0], tokens[1:]
    name = word.lower()
    if rest[:1] == ["<"]:
        parser = _PARAMETRISED.get(name)
        if parser is None:
            raise SchemaError(f"The CQL type {text!r} holds {word!r}, which takes no parameters here.")
        return parser(name, rest[1:], user_types, text)
    if name in _SIMPLE:
        return CqlType("text" if name == "varchar" else name), rest
    if word.startswith("'"):
        return CqlType("custom", frozen=True, title=word.strip("'")), rest
    unquoted = word[1:-1].replace('""', '"') if word.startswith('"') else word
    if unquoted not in user_types:
        raise SchemaError(f"The CQL type {text!r} names {unquoted!r}, which is not known in its keyspace.")
    return user_types[unquoted], rest


def _parse_frozen(name: str, tokens: list[str], user_types: UserTypes, text: str) -> tuple[CqlType, list[str]]:
    del name
    (inner,), rest = _parameters(tokens, user_types, text)
    return replace(inner, frozen=True), rest


def _parse_collection(name: str, tokens: list[str], user_types: UserTypes, text: str) -> tuple[CqlType, list[str]]:
    parameters, rest = _parameters(tokens, user_types, text)
    if name in _COLLECTIONS and len(parameters) != _COLLECTIONS[name]:
        raise SchemaError(f"The CQL type {text!r} has a {name} of {len(parameters)} types.")
    return CqlType(name, parameters, frozen=name == "tuple"), rest


def _parse_vector(name: str, tokens: list[str], user_types: UserTypes, text: str) -> tuple[CqlType, list[str]]:
    element, rest = _parse(tokens, user_types, text)
    match rest:
        case [",", dimension, ">", *behind] if dimension.isdigit():
            return CqlType(name, (element,), frozen=True, dimension=int(dimension)), behind
    raise SchemaError(f"The CQL type {text!r} has a vector without a number of dimensions.")


def _parameters(tokens: list[str], user_types: UserTypes, text: str) -> tuple[tuple[CqlType, ...], list[str]]:
    found: list[CqlType] = []
    while True:
        parameter, tokens = _parse(tokens, user_types, text)
        found.append(parameter)
        match tokens:
            case [",", *tokens]:
                continue
            case [">", *tokens]:
                return tuple(found), tokens
        raise SchemaError(f"The CQL type {text!r} ends too soon.")


_Parser = Callable[[str, list[str], UserTypes, str], tuple[CqlType, list[str]]]
_PARAMETRISED: Final[Mapping[str, _Parser]] = {
    "frozen": _parse_frozen,
    "list": _parse_collection,
    "set": _parse_collection,
    "map": _parse_collection,
    "tuple": _parse_collection,
    "vector": _parse_vector,
}
