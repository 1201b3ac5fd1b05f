"""Compiles the text of a .proto file, or its serialized descriptor, to messages; protoc does the work."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from connect.convert.protobuf.model import ProtoSchema
from connect.convert.protobuf.protoc import OWN_NAME, check_name, descriptor_set, missing


def compile_proto(text: str, imports: Sequence[tuple[str, str]] = ()) -> ProtoSchema:
    """Return the messages of a schema. `imports` has name and text of the files that it imports.

    A text may be source, or a FileDescriptorProto in base64, as the registry's `format=serialized` gives. SchemaError
    with protoc's words when it is neither. RetriableError: protoc has no temporary files to work with.
    """
    try:
        from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    except ImportError as error:
        raise missing(error) from error
    for name, _ in imports:
        check_name(name)
    own = _serialized(text, FileDescriptorProto)
    files = FileDescriptorSet()
    if own is None:
        files.ParseFromString(descriptor_set([*imports, (OWN_NAME, text)], [OWN_NAME]))
        return ProtoSchema(list(files.file))
    # A descriptor needs nothing but what it imports.
    sources = [(name, source) for name, source in imports if _serialized(source, FileDescriptorProto) is None]
    given = [f for _, source in imports if (f := _serialized(source, FileDescriptorProto)) is not None]
    known = {f.name for f in given}
    wanted = [name for f in [own, *given] for name in f.dependency if name not in known]
    if wanted:
        files.ParseFromString(descriptor_set(sources, sorted(set(wanted))))
    return ProtoSchema([*files.file, *given, own])


def _serialized(text: str, kind: Any) -> Any | None:
    try:
        data = base64.b64decode(text, validate=True)
        return kind.FromString(data)
    except (ValueError, binascii.Error):
        return None
    except Exception as error:
        if type(error).__name__ == "DecodeError":
            return None
        raise
