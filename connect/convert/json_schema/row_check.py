"""Checks rows against a JSON Schema of a registry.

Its patterns are Java's. A match has a time limit: an author of schemas could otherwise hold up all tasks of a process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from connect.api.errors import ConnectError, RejectedRowsError, SchemaError
from connect.lib.javatext.regex import JavaPatternError, compile_pattern

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

    from connect.lib.javatext.timed_pattern import TimedPattern

_VALUES: Final = frozenset({"const", "default", "enum", "examples"})
"""These keywords hold values, which are no schemas whatever they look like."""


def row_check(document: Any, others: Mapping[str, Any]) -> Callable[[pa.BinaryArray], None]:
    """Return a function that rejects rows that the schema does not describe. ConnectError: jsonschema is missing.

    The function raises PatternTimeoutError when a pattern of the schema takes too long, and SchemaError when one is no
    pattern.
    """
    try:
        from jsonschema.exceptions import best_match
        from jsonschema.validators import extend, validator_for
        from referencing import Registry
        from referencing.jsonschema import DRAFT7
    except ImportError as error:
        raise ConnectError(
            "json.fail.invalid.schema=true needs the package jsonschema.", key="json.fail.invalid.schema",
            fix="Install it with: pip install 'connect-for-kafka[registry]'.",
        ) from error  # fmt: skip
    resources = [(name, DRAFT7.create_resource(_undeclared(contents))) for name, contents in others.items()]
    timed = extend(validator_for(document), _TIMED)
    validator = timed(_undeclared(document), registry=Registry().with_resources(resources))

    def check(texts: pa.BinaryArray) -> None:
        rejected: dict[int, Exception] = {}
        for row, text in enumerate(texts.to_pylist()):
            try:
                value = json.loads(text)
            except ValueError:
                continue  # the reader tells what is wrong with it
            found = best_match(validator.iter_errors(value))
            if found is not None:
                where = ".".join(map(str, found.absolute_path))
                rejected[row] = SchemaError(f"The JSON Schema says: {found.message}", field=where)
        if rejected:
            raise RejectedRowsError(rejected)

    return check


def _undeclared(schema: Any) -> Any:
    """Return the schema without `$schema`: where jsonschema meets one, it goes on with keywords of its own."""
    if isinstance(schema, list):
        return [_undeclared(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value if key in _VALUES else _undeclared(value)
        for key, value in schema.items()
        if key != "$schema" or not isinstance(value, str)
    }


@lru_cache(maxsize=32)
def _matcher(pattern: str) -> TimedPattern:
    """Return the compiled pattern. `compile_pattern` itself keeps none of more than a thousand characters."""
    return compile_pattern(pattern)


def _has(pattern: str, text: str) -> bool:
    try:
        return _matcher(pattern).search(text) is not None
    except JavaPatternError as error:
        raise SchemaError(f"The JSON Schema has a pattern that cannot be used, {pattern[:200]!r}: {error}") from None


def _pattern(validator: Any, pattern: str, value: Any, _: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "string") and not _has(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "object"):
        for pattern, subschema in patterns.items():
            for key, inner in value.items():
                if _has(pattern, key):
                    yield from validator.descend(inner, subschema, path=key, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(value, "object"):
        return
    patterns, known = schema.get("patternProperties", {}), schema.get("properties", {})
    extra = [key for key in value if key not in known and not any(_has(pattern, key) for pattern in patterns)]
    if validator.is_type(wanted, "object"):
        for key in extra:
            yield from validator.descend(value[key], wanted, path=key)
    elif not wanted and extra:
        yield ValidationError(f"Additional properties are not allowed: {', '.join(map(repr, extra))}")


# `unevaluatedProperties` beside `patternProperties` still matches by Python's `re`.
_TIMED: Final = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}
"""Maps each keyword that matches patterns to what judges it here."""
