"""Reads an Avro schema whose `arg.properties` say what values are made up, as Avro's random generators take it. Pure.

Known are options, range (min, max), iteration (start, step, restart), length and regex; an array has `length` items.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from connect.api import schema as s
from connectors.samples.datagen.patterns import Pattern
from connectors.samples.datagen.values import (
    BLOCK_ROWS,
    Booleans,
    Choice,
    Counted,
    Lists,
    MadeTexts,
    Maps,
    Nullable,
    Numbers,
    Place,
    Structs,
    Values,
)

_ARGUMENTS: Final = "arg.properties"
_KNOWN: Final = frozenset({"options", "range", "iteration", "length", "regex", "keys", "malformation-rate"})
_WHOLE: Final = {"int": (s.Type.INT32, 2**31), "long": (s.Type.INT64, 2**62)}
_FRACTIONS: Final = {"float": s.Type.FLOAT32, "double": s.Type.FLOAT64}
_UNFIT: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""Reading a schema of the wrong form, or making values by it, raises one of these."""
_TEXT_CHARS: Final = (8, 16)
_ITEMS: Final = (1, 4)


def values_of(text: str) -> Structs:
    """Return what makes the rows of a schema; it has made some of them as a trial.

    ValueError: the text is no Avro schema of a record, or its `arg.properties` ask for something unknown.
    """
    try:
        made = _record_of(text)
        made.column(Place("0", 0, BLOCK_ROWS))
    except _UNFIT as error:
        missing = f"a type has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"No rows are made by it: {missing}") from error
    return made


def _record_of(text: str) -> Structs:
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise ValueError(f"It is no JSON: {error}") from None
    made = _made(schema, "", {})
    if not isinstance(made, Structs):
        raise ValueError("The schema's type is not record")  # noqa: TRY004 - told as a wrong value of a key
    return made


def _made(schema: Any, path: str, named: dict[str, Values]) -> Values:
    """Return what makes values of a schema; `named` has the types that were declared before."""
    if isinstance(schema, list):
        return _of_union(schema, path, named)
    if isinstance(schema, str):
        schema = {"type": schema}
    if not isinstance(schema, dict) or "type" not in schema:
        raise ValueError(f"{path or 'The schema'} has no type")
    kind, told = schema["type"], schema.get(_ARGUMENTS, {})
    if not isinstance(told, dict):
        raise ValueError(f"{_ARGUMENTS} of {path or 'the schema'} is no object")  # noqa: TRY004 - told as a wrong value
    if unknown := sorted(told.keys() - _KNOWN):
        raise ValueError(f"{_ARGUMENTS} of {path or 'the schema'} have {', '.join(unknown)}, which is not known here")
    if not isinstance(kind, str):
        return _made({**kind, _ARGUMENTS: told} if told and isinstance(kind, dict) else kind, path, named)
    if kind in named:
        return named[kind]
    values = _of_kind(kind, schema, told, path, named)
    for name in (schema.get("name"), _full_name(schema)):
        if name and kind in {"record", "enum", "fixed"}:
            named[name] = values
    return values


def _of_kind(
    kind: str, schema: Mapping[str, Any], told: Mapping[str, Any], path: str, named: dict[str, Values]
) -> Values:
    if kind == "record":
        members = {f["name"]: _made(_field(f), f"{path}.{f['name']}".lstrip("."), named) for f in schema["fields"]}
        return Structs(_full_name(schema), members)
    if kind == "array":
        return Lists(_made(schema["items"], f"{path}[]", named), *_lengths(told, _ITEMS))
    if kind == "map":
        keys = _made({"type": "string", _ARGUMENTS: told.get("keys", {})}, f"{path}.key", named)
        return Maps(keys, _made(schema["values"], f"{path}.value", named), *_lengths(told, _ITEMS))
    return _plain(kind, schema, told, path)


def _plain(kind: str, schema: Mapping[str, Any], told: Mapping[str, Any], path: str) -> Values:
    options: list[Any] | None = told.get("options", schema.get("symbols"))
    if (options is not None or kind == "enum") and not (isinstance(options, list) and options):
        raise ValueError(f"options of {path or 'the schema'} are no list of values")
    if kind == "enum" and options is not None:
        return Choice(s.Schema(s.Type.STRING, name=_full_name(schema)), options)
    of_type = {name: own for name, (own, _) in _WHOLE.items()} | _FRACTIONS
    of_type |= {"string": s.Type.STRING, "bytes": s.Type.BYTES, "boolean": s.Type.BOOLEAN}
    if kind not in of_type:
        raise ValueError(f"{path or 'The schema'} has the type {kind}, which is not known here")
    own = s.Schema(of_type[kind])
    if options is not None:
        return Choice(own, [option.encode() for option in options] if kind == "bytes" else options)
    if "iteration" in told and kind in _WHOLE:
        told = told["iteration"]
        return Counted(own, int(told.get("start", 0)), int(told.get("step", 1)), told.get("restart"))
    if kind == "boolean":
        return Booleans(own)
    if kind in _WHOLE or kind in _FRACTIONS:
        bounds = told.get("range", {})
        least, below = (0, _WHOLE[kind][1]) if kind in _WHOLE else (0.0, 1.0)
        return Numbers(own, bounds.get("min", least), bounds.get("max", below))
    if "regex" in told:
        return MadeTexts(own, Pattern(told["regex"]).text)
    return MadeTexts(own, partial(_text, lengths=_lengths(told, _TEXT_CHARS)))


def _text(dice: random.Random, lengths: tuple[int, int]) -> str:
    return "".join(dice.choice(string.ascii_letters) for _ in range(dice.randint(*lengths)))


def _of_union(branches: Sequence[Any], path: str, named: dict[str, Values]) -> Values:
    others = [branch for branch in branches if branch != "null"]
    if len(others) != 1:
        raise ValueError(f"{path or 'The schema'} is a union of {len(others)} types; one, or one and null, is known")
    made = _made(others[0], path, named)
    return Nullable(made) if len(others) < len(branches) else made


def _field(field: Mapping[str, Any]) -> Any:
    """Return the type of a field, with the arguments that stand beside it."""
    kind, told = field["type"], field.get(_ARGUMENTS)
    return {"type": kind, _ARGUMENTS: told} if told else kind


def _lengths(told: Mapping[str, Any], default: tuple[int, int]) -> tuple[int, int]:
    length = told.get("length")
    if isinstance(length, dict):
        return int(length["min"]), int(length["max"]) - 1
    return default if length is None else (int(length), int(length))


def _full_name(schema: Mapping[str, Any]) -> str | None:
    name, namespace = schema.get("name"), schema.get("namespace")
    return f"{namespace}.{name}" if name and namespace and "." not in name else name
