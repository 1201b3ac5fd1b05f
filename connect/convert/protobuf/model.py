"""Represents a Protobuf schema as a tree of messages, made from its compiled descriptor. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import SchemaError

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

_KINDS: Final = (
    "", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "group", "message",
    "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64",
)  # fmt: skip
_REPEATED: Final = 3
_OPTIONAL: Final = 1
_META: Final = 1088


@dataclass(eq=False, slots=True)
class ProtoEnum:
    """An enum that a schema declares: its full name, and the number of every symbol. `is_open`: it takes other
    numbers, too.
    """

    name: str
    symbols: Mapping[str, int]
    is_open: bool = False

    @property
    def short_name(self) -> str:
        """Return the name without package and outer messages."""
        return self.name.rpartition(".")[2]


@dataclass(eq=False, slots=True)
class ProtoField:
    """A field that a message declares. `kind` is the type's name in .proto files.

    `oneof` is the name of the oneof that the field is in (not a synthetic one). `presence`: a value that is the default
    can be told from none. `optional`: the field has the word `optional`.
    """

    name: str
    number: int
    kind: str
    repeated: bool = False
    packed: bool = False
    presence: bool = False
    optional: bool = False
    required: bool = False
    oneof: str | None = None
    message: ProtoMessage | None = None
    enum: ProtoEnum | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class ProtoMessage:
    """A message: its full name, and its fields as they are declared. `indexes`: its place in its file."""

    name: str
    indexes: tuple[int, ...] = ()
    fields: list[ProtoField] = field(default_factory=list)
    oneofs: list[str] = field(default_factory=list)
    is_map_entry: bool = False

    @property
    def short_name(self) -> str:
        """Return the name without package and outer messages."""
        return self.name.rpartition(".")[2]

    def entry(self) -> tuple[ProtoField, ProtoField]:
        """Return the key field and the value field of a map's entry."""
        return self.fields[0], self.fields[1]


class ProtoSchema:
    """Holds the messages of a file: those at the top, each followed by the ones inside it."""

    def __init__(self, files: Sequence[FileDescriptorProto]) -> None:
        """Take `files`: all that are imported, and the schema's own last."""
        self._messages: dict[str, ProtoMessage] = {}
        self._enums: dict[str, ProtoEnum] = {}
        self._own: list[ProtoMessage] = []
        described: list[tuple[ProtoMessage, DescriptorProto, bool]] = []
        for file in files:
            prefix = f"{file.package}." if file.package else ""
            is_proto3 = file.syntax == "proto3"
            self._add_enums(file.enum_type, prefix, is_open=is_proto3)
            own = [
                pair
                for i, message in enumerate(file.message_type)
                for pair in self._declare(message, prefix, (i,), is_proto3=is_proto3)
            ]
            described += [(message, node, is_proto3) for message, node in own]
            self._own = [message for message, _ in own]
        for message, node, is_proto3 in described:
            self._fill(message, node, is_proto3=is_proto3)

    @property
    def first(self) -> ProtoMessage:
        """Return the message that a schema stands for if nothing else is said. SchemaError when there is none."""
        if not self._own:
            raise SchemaError("The Protobuf schema defines no message.")
        return self._own[0]

    def at(self, indexes: Sequence[int]) -> ProtoMessage | None:
        """Return the message at this place in the file; None when there is none."""
        return next((m for m in self._own if m.indexes == tuple(indexes)), None)

    def named(self, name: str) -> ProtoMessage | None:
        """Return the message with this full name, or else with its last part; None when there is none."""
        exact = [m for m in self._own if m.name == name]
        return next(iter(exact or [m for m in self._own if m.short_name == name.rpartition(".")[2]]), None)

    def _declare(
        self, node: DescriptorProto, prefix: str, indexes: tuple[int, ...], *, is_proto3: bool
    ) -> Iterator[tuple[ProtoMessage, DescriptorProto]]:
        message = ProtoMessage(prefix + node.name, indexes, is_map_entry=node.options.map_entry)
        self._messages[message.name] = message
        self._add_enums(node.enum_type, f"{message.name}.", is_open=is_proto3)
        yield message, node
        for index, inner in enumerate(node.nested_type):
            yield from self._declare(inner, f"{message.name}.", (*indexes, index), is_proto3=is_proto3)

    def _add_enums(self, nodes: Any, prefix: str, *, is_open: bool) -> None:
        for node in nodes:
            name = prefix + node.name
            symbols = {value.name: value.number for value in node.value}
            self._enums[name] = ProtoEnum(name, symbols, is_open=is_open)

    def _fill(self, message: ProtoMessage, node: DescriptorProto, *, is_proto3: bool) -> None:
        synthetic = {f.oneof_index for f in node.field if f.proto3_optional}
        message.oneofs = [oneof.name for i, oneof in enumerate(node.oneof_decl) if i not in synthetic]
        message.fields = [self._field(f, node, is_proto3=is_proto3) for f in node.field]

    def _field(self, node: FieldDescriptorProto, owner: DescriptorProto, *, is_proto3: bool) -> ProtoField:
        kind = _KINDS[node.type]
        if kind == "group":
            raise SchemaError(f"Protobuf groups are not supported: {owner.name}.{node.name}.")
        in_oneof = node.HasField("oneof_index") and not node.proto3_optional
        repeated = node.label == _REPEATED
        plain = kind not in {"string", "bytes", "message"}
        packed = node.options.packed if node.options.HasField("packed") else is_proto3
        optional = node.proto3_optional or (not is_proto3 and node.label == _OPTIONAL and not in_oneof)
        return ProtoField(
            node.name, node.number, kind, repeated=repeated, packed=repeated and plain and packed,
            presence=not repeated and (kind == "message" or not is_proto3 or optional or in_oneof), optional=optional,
            required=not is_proto3 and node.label not in {_OPTIONAL, _REPEATED},
            oneof=owner.oneof_decl[node.oneof_index].name if in_oneof else None,
            message=self._messages.get(node.type_name.lstrip(".")) if kind == "message" else None,
            enum=self._enums.get(node.type_name.lstrip(".")) if kind == "enum" else None,
            parameters=_parameters(node.options.SerializeToString()),
        )  # fmt: skip


def _parameters(options: bytes) -> dict[str, str]:
    """Return the map `params` of the option confluent.field_meta."""
    found = {}
    for meta in _submessages(options, _META):
        for entry in _submessages(meta, 2):
            key, value = (b"".join(_submessages(entry, number)).decode() for number in (1, 2))
            found[key] = value
    return found


def _submessages(data: bytes, wanted: int) -> Iterator[bytes]:
    """Yield the contents of every length-delimited field with this number."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                _, at = _varint(data, at)
            case 1:
                at += 8
            case 2:
                size, at = _varint(data, at)
                if tag >> 3 == wanted:
                    yield data[at : at + size]
                at += size
            case _:
                at += 4


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
