"""Provides the Protobuf codec without a registry, and the messages of protobuf's own runtime beside it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from connect.api.records import Column
from connect.api.schema import Schema
from connect.convert.protobuf.decode import decoder
from connect.convert.protobuf.encode import encoder
from connect.convert.protobuf.from_connect import proto_text
from connect.convert.protobuf.model import ProtoMessage, ProtoSchema
from connect.convert.protobuf.settings import ProtobufSettings
from connect.convert.protobuf.to_connect import connect_of
from connect.convert.vectors.cursor import Cursor

NULLABLE = ProtobufSettings(optional_for_nullables=True)


def descriptors(text: str) -> descriptor_pb2.FileDescriptorSet:
    """What protoc makes of a text, in this process: a test that compiles many would wait for processes."""
    import google.type
    import grpc_tools
    from grpc_tools import protoc

    import connect

    ours = Path(connect.__file__).parent / "convert" / "protobuf" / "include"
    includes = [ours, Path(grpc_tools.__file__).parent / "_proto", Path(google.type.__path__[0]).parents[1]]
    with TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        source, out = Path(folder) / "test.proto", Path(folder) / "out.bin"
        source.write_text(text)
        arguments = ["protoc", f"-I{folder}", *(f"-I{path}" for path in includes), "--include_imports"]
        assert protoc.main([*arguments, f"--descriptor_set_out={out}", str(source)]) == 0, text
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())


def compiled(text: str) -> ProtoSchema:
    return ProtoSchema(list(descriptors(text).file))


def peer(text: str, name: str) -> Any:
    """The class that protobuf's runtime makes of a message."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptors(text).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def encoded(schema: Schema, rows: Sequence[Any], settings: ProtobufSettings = NULLABLE,
            message: ProtoMessage | None = None) -> list[bytes]:  # fmt: skip
    array = Column.from_rows(rows, schema).arrow()
    target = message or compiled(proto_text(schema, settings)).first
    return encoder(schema, target, settings)(array).to_pylist()


def decoded(
    message: ProtoMessage, data: Sequence[bytes], settings: ProtobufSettings = NULLABLE
) -> tuple[Schema, pa.Array, dict[int, str]]:
    schema = connect_of(message, settings)
    cursor = Cursor.over(pa.array(data, pa.binary()))
    array = decoder(schema, message, settings)(cursor)
    cursor.expect_end()
    return schema, array, cursor.failures


def rows_of(array: pa.Array) -> list[Any]:
    return array.to_pylist(maps_as_pydicts="strict")
