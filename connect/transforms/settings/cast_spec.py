"""Reads from the setting `spec` of Cast which fields become which types. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from connect.api.errors import ConfigProblem
from connect.api.schema import Type
from connect.transforms.settings.renames import names_of, rename_message

TARGETS = (
    Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING,
)  # fmt: skip
SOURCES = (*TARGETS, Type.BYTES)


def java_types(types: Iterable[Type]) -> str:
    """Return types as Java prints a list of them."""
    return f"[{', '.join(t.upper() for t in types)}]"


@dataclass(frozen=True, slots=True)
class CastSpec:
    """Holds the type of the whole key or value after the cast, or the types of fields by name."""

    whole: Type | None
    fields: Mapping[str, Type] = field(default_factory=dict)

    @classmethod
    def parse(cls, spec: Sequence[str]) -> CastSpec:
        """Return what a spec without problems says."""
        pairs = [names_of(entry) for entry in spec]
        if len(pairs[0]) == 1:
            return cls(_type(pairs[0][0]))
        return cls(None, {name.strip(): _type(kind) for name, kind in pairs})


def cast_problems(spec: Sequence[str]) -> Iterable[ConfigProblem]:
    """Yield what is wrong with a spec, in Kafka's words."""
    message = _problem(spec)
    return () if message is None else (ConfigProblem("spec", message),)


def _problem(spec: Sequence[str]) -> str | None:
    if not spec:
        return "Must specify at least one field to cast."
    whole = False
    for entry in spec:
        parts = names_of(entry)
        if len(parts) > 2 or not parts:
            return rename_message(spec, entry)
        whole = whole or len(parts) == 1
        message = _type_problem(parts[-1])
        if message is not None:
            return message
    if whole and len(spec) > 1:
        return (
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in "
            "their spec"
        )
    return None


def _type_problem(text: str) -> str | None:
    try:
        kind = _type(text)
    except ValueError:
        constant = f"org.apache.kafka.connect.data.Schema.Type.{text.strip().upper()}"
        return (
            f"Invalid value java.lang.IllegalArgumentException: No enum constant {constant} "
            f"for configuration Invalid type found in casting spec: {text.strip()}"
        )
    if kind in TARGETS:
        return None
    return f"Cast transformation does not support casting to {kind.upper()}; supported types are {java_types(TARGETS)}"


def _type(text: str) -> Type:
    return Type(text.strip().lower())
