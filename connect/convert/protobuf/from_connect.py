"""Derives the .proto text of a Connect schema, as Confluent's converter registers it. Pure."""

from __future__ import annotations

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.schema import Schema, Type
from connect.api.time_types import time_type
from connect.convert.avro.names import scrubbed
from connect.convert.protobuf import names as n
from connect.convert.protobuf.settings import ProtobufSettings

_KINDS = {
    Type.INT8: "int32", Type.INT16: "int32", Type.INT32: "int32", Type.INT64: "int64", Type.FLOAT32: "float",
    Type.FLOAT64: "double", Type.BOOLEAN: "bool", Type.STRING: "string", Type.BYTES: "bytes",
}  # fmt: skip
_WRAPPERS = {
    "int32": "Int32Value", "int64": "Int64Value", "float": "FloatValue", "double": "DoubleValue", "bool": "BoolValue",
    "string": "StringValue", "bytes": "BytesValue", "uint32": "UInt32Value", "fixed32": "UInt32Value",
    "uint64": "UInt64Value", "fixed64": "UInt64Value",
}  # fmt: skip
_KEYS = frozenset({Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN, Type.STRING})

Scope = tuple[dict[str, list[str]], dict[str, Schema]]
"""Holds the lines of the types inside a message, by name, and the structs they were made of."""


def proto_text(schema: Schema, settings: ProtobufSettings) -> str:
    """Return the .proto text of a schema.

    SchemaError names the field that Protobuf has no place for: lists of lists, keys that are numbers.
    """
    return _Writer(settings).file(schema)


def message_name(schema: Schema, settings: ProtobufSettings) -> str:
    """Return the full name of the message that a struct becomes."""
    name = schema.name or f"{n.DEFAULT_NAME}1"
    return ".".join(_valid(part, settings, "") for part in name.split("."))


class _Writer:
    """Makes the text of one file, and remembers the names and imports that it has."""

    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings
        self._unnamed = 0
        self._imports: set[str] = set()
        self._open: list[tuple[str | None, str]] = []

    def file(self, schema: Schema) -> str:
        if schema.type is not Type.STRUCT or is_scalar_message(schema):
            raise SchemaError(
                f"A Protobuf message is a struct, and the rows are {schema.name or schema.type}.",
                fix="Wrap them with HoistField.",
            )
        package, _, name = message_name(schema, self._settings).rpartition(".")
        if schema.name is None:
            self._unnamed = 1
        body = self._message(schema, name, "", "")
        lines = ['syntax = "proto3";', *([f"package {package};"] if package else []), ""]
        lines += [f'import "{path}";' for path in sorted(self._imports)]
        return "\n".join([*lines, *([""] if self._imports else []), *body]) + "\n"

    def _message(self, schema: Schema, name: str, indent: str, path: str) -> list[str]:
        inner: dict[str, list[str]] = {}
        known: dict[str, Schema] = {}
        lines = []
        self._open.append((_short(schema.name), name))
        taken = frozenset(int(f.schema.parameters[n.TAG]) for f in schema.fields if n.TAG in f.schema.parameters)
        numbers = iter(i for i in range(1, len(schema.fields) + len(taken) + 100) if i not in taken)
        for member in schema.fields:
            below = f"{path}.{member.name}".lstrip(".")
            if n.is_union(member.schema):
                lines += self._oneof(member.schema, indent, inner, known, below)
                continue
            number = int(member.schema.parameters[n.TAG]) if n.TAG in member.schema.parameters else next(numbers)
            field = _valid(member.name, self._settings, below)
            label = _label(member.schema, self._settings)
            lines.append(
                self._field(
                    member.schema, field, number, label=label, indent=indent + "  ", scope=(inner, known), path=below
                )
            )
        self._open.pop()
        nested = [line for block in inner.values() for line in block]
        return [f"{indent}message {name} {{", *lines, *nested, f"{indent}}}"]

    def _oneof(
        self, schema: Schema, indent: str, inner: dict[str, list[str]], known: dict[str, Schema], path: str
    ) -> list[str]:
        named = schema.parameters.get(n.GENERALIZED_UNION) or (schema.name or "").removeprefix(n.UNION_PREFIX)
        lines = [f"{indent}  oneof {named.rpartition('.')[2]} {{"]
        for member in schema.fields:
            below = f"{path}.{member.name}"
            if n.TAG not in member.schema.parameters:
                raise SchemaError(f"A member of a oneof needs its number, the parameter {n.TAG}.", field=below)
            number, field = int(member.schema.parameters[n.TAG]), _valid(member.name, self._settings, below)
            required = member.schema.as_optional(False)
            lines.append(
                self._field(required, field, number, label="", indent=indent + "    ", scope=(inner, known), path=below)
            )
        return [*lines, f"{indent}  }}"]

    def _field(
        self, schema: Schema, name: str, number: int, *, label: str, indent: str, scope: Scope, path: str
    ) -> str:
        options: dict[str, str] = {}
        if schema.type is Type.ARRAY:
            assert schema.items is not None
            if schema.items.type in {Type.ARRAY, Type.MAP}:
                raise SchemaError("Protobuf has no list of lists or of maps.", field=path, fix="Wrap them in a struct.")
            kind = self._kind(schema.items, name, options, scope, path, wrap=False)
        elif schema.type is Type.MAP:
            kind = self._map(schema, name, scope, path)
        else:
            kind = self._kind(schema, name, options, scope, path, wrap=self._settings.wrapper_for_nullables)
        shown = ", ".join(f'{{key: "{key}", value: "{value}"}}' for key, value in options.items())
        meta = f" [(confluent.field_meta) = {{params: [{shown}]}}]" if options else ""
        if options:
            self._imports.add(n.META)
        return f"{indent}{label}{kind} {name} = {number}{meta};"

    def _kind(
        self, schema: Schema, name: str, options: dict[str, str],
        scope: Scope, path: str, *, wrap: bool,
    ) -> str:  # fmt: skip
        if schema.name is not None and schema.name in n.LOGICAL:
            if schema.name == s.DECIMAL:
                options |= _decimal_options(schema)
            self._imports.add(n.LOCATIONS[n.LOGICAL[schema.name]])
            return n.LOGICAL[schema.name]
        if schema.name == s.RECURSIVE and (outer := self._outer(schema.parameters["type"])) not in {None, name}:
            return str(outer)
        if schema.type is Type.STRUCT:
            return self._nested(schema, name, scope, path)
        if schema.type in {Type.STRING, Type.INT32} and self._settings.enum_parameter in schema.parameters:
            return self._enum(schema, scope[0])
        if schema.type in {Type.INT8, Type.INT16}:
            options[n.CONNECT_TYPE] = schema.type.value
        if time_type(schema.name) is not None:
            options[n.CONNECT_NAME] = str(schema.name)
        kind = schema.parameters.get(n.TYPE, _KINDS[schema.type])
        if not (wrap and schema.optional):
            return kind
        self._imports.add(n.WRAPPERS)
        return f"google.protobuf.{_WRAPPERS[kind]}"

    def _outer(self, type_name: str) -> str | None:
        """Return the message that holds a value of its own type, as long as that one has the name it was read by."""
        return next((kind for name, kind in reversed(self._open) if name == _short(type_name)), None)

    def _nested(self, schema: Schema, name: str, scope: Scope, path: str) -> str:
        inner, known = scope
        if schema.name is None:
            self._unnamed += 1
            kind = f"{n.DEFAULT_NAME}{self._unnamed}"
        else:
            kind = _valid(schema.name.rpartition(".")[2], self._settings, path)
        # A message and a field of one name would be one name twice.
        kind = f"{kind}Message" if kind == name else kind
        required = schema.as_optional(False)
        if kind in known and not _same_message(known[kind], required):
            raise SchemaError(f"Two different structs are called {kind!r} here.", field=path, fix="Rename one of them.")
        if kind not in known:
            known[kind] = required
            inner[kind] = self._message(required, kind, "  ", path)
        return kind

    def _enum(self, schema: Schema, inner: dict[str, list[str]]) -> str:
        parameter = self._settings.enum_parameter
        kind = schema.parameters[parameter] or (schema.name or "").rpartition(".")[2]
        symbols = {k.removeprefix(f"{parameter}."): int(v) for k, v in schema.parameters.items()
                   if k.startswith(f"{parameter}.")}  # fmt: skip
        values = [f"    {symbol} = {number};" for symbol, number in sorted(symbols.items(), key=_zero_first)]
        inner[kind] = [f"  enum {kind} {{", *values, "  }"]
        return kind

    def _map(self, schema: Schema, name: str, scope: Scope, path: str) -> str:
        assert schema.keys is not None
        assert schema.items is not None
        if schema.keys.type not in _KEYS or schema.keys.name in n.LOGICAL:
            raise SchemaError(f"A map's key cannot be {schema.keys.name or schema.keys.type} in Protobuf.", field=path)
        if schema.items.type in {Type.ARRAY, Type.MAP}:
            raise SchemaError("Protobuf has no map of lists or maps.", field=path, fix="Wrap them in a struct.")
        options: dict[str, str] = {}
        key = self._kind(schema.keys, "key", options, scope, path, wrap=False)
        value = self._kind(schema.items, "value", options, scope, path, wrap=False)
        if options or name.lstrip("_")[:1].isdigit():
            # `map<…>` has no place for the options of its value, nor a valid name for the entry of a field `_0`.
            return self._written_out_entry(schema, name, scope, path)
        return f"map<{key}, {value}>"

    def _written_out_entry(self, schema: Schema, name: str, scope: Scope, path: str) -> str:
        assert schema.keys is not None
        assert schema.items is not None
        camel = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
        kind = f"{'X' if camel[:1].isdigit() else ''}{camel}Entry"
        members = ((schema.keys, "key", 1), (schema.items, "value", 2))
        fields = [
            self._field(part, field, number, label="", indent="    ", scope=scope, path=path)
            for part, field, number in members
        ]
        lines = [f"  message {kind} {{", *fields, "  }"]
        if scope[0].setdefault(kind, lines) != lines:
            raise SchemaError(
                f"Two different types would be called {kind!r} here.", field=path, fix="Rename one field."
            )
        return f"repeated {kind}"


def is_scalar_message(schema: Schema) -> bool:
    """Tell if a struct is no message of its own."""
    return n.is_union(schema)


def _short(name: str | None) -> str | None:
    return None if name is None else name.rpartition(".")[2]


def _label(schema: Schema, settings: ProtobufSettings) -> str:
    if schema.type is Type.ARRAY:
        return "repeated "
    return "optional " if settings.optional_for_nullables and schema.optional and schema.type is not Type.MAP else ""


def _decimal_options(schema: Schema) -> dict[str, str]:
    precision = schema.parameters.get(s.PRECISION_PARAMETER)
    scale = {"scale": str(schema.decimal_scale)}
    return scale if precision is None else {"precision": precision, **scale}


def _valid(name: str, settings: ProtobufSettings, path: str) -> str:
    valid = scrubbed(name)
    valid = f"x{valid}" if settings.scrub_invalid_names and valid.startswith("_") else valid
    if valid != name and not settings.scrub_invalid_names:
        raise SchemaError(
            f"{name!r} is no name in Protobuf (letters, digits and _).", field=path,
            fix="Rename it, or set value.converter.scrub.invalid.names=true.",
        )  # fmt: skip
    return valid


def _same_message(one: Schema, other: Schema) -> bool:
    return one.fields == other.fields


def _zero_first(item: tuple[str, int]) -> tuple[bool, int]:
    """Sort symbols by their number behind that of number 0, which proto3 wants first."""
    return item[1] != 0, item[1]
