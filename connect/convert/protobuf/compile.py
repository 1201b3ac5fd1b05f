"""The text of a .proto file, or its serialized descriptor, as messages; protoc does the work."""

from __future__ import annotations

import base64
import binascii
import importlib.resources
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from connect.api.errors import ConnectError, RetriableError, SchemaError
from connect.convert.protobuf.model import ProtoSchema

_NAME: Final = "connect_schema.proto"
_TIMEOUT_S: Final = 60


def compile_proto(text: str, imports: Sequence[tuple[str, str]] = ()) -> ProtoSchema:
    """The messages of a schema. `imports`: name and text of the files that it imports.

    A text may be source, or a FileDescriptorProto in base64, as the registry's `format=serialized` gives.
    SchemaError with protoc's words when it is neither. RetriableError: protoc has no temporary files to work with.
    """
    try:
        from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
    except ImportError as error:
        raise _missing(error) from error
    own = _serialized(text, FileDescriptorProto)
    with _no_room_is_no_bad_schema(), tempfile.TemporaryDirectory(prefix="connect-proto-") as folder:
        files = FileDescriptorSet()
        if own is None:
            files.ParseFromString(_run_protoc(Path(folder), [*imports, (_NAME, text)], [_NAME]))
            return ProtoSchema(list(files.file))
        # A descriptor needs nothing but what it imports.
        sources = [(name, source) for name, source in imports if _serialized(source, FileDescriptorProto) is None]
        given = [f for _, source in imports if (f := _serialized(source, FileDescriptorProto)) is not None]
        known = {f.name for f in given}
        wanted = [name for f in [own, *given] for name in f.dependency if name not in known]
        if wanted:
            files.ParseFromString(_run_protoc(Path(folder), sources, sorted(set(wanted))))
        return ProtoSchema([*files.file, *given, own])


@contextmanager
def _no_room_is_no_bad_schema() -> Iterator[None]:
    """A full disk or a read-only folder says nothing about rows: none may be given up because of it."""
    try:
        yield
    except OSError as error:
        raise RetriableError(
            f"A Protobuf schema cannot be compiled, as no temporary file can be written: {error}.",
            fix="Free space in the folder for temporary files, or name one that can be written to in TMPDIR.",
        ) from error


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


def _run_protoc(folder: Path, sources: Sequence[tuple[str, str]], wanted: Sequence[str]) -> bytes:
    for name, text in sources:
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise SchemaError(f"A Protobuf schema is referred to by a name that is no relative path: {name!r}.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    out = folder / "descriptors.bin"
    with ExitStack() as stack:
        includes = [folder, *(stack.enter_context(importlib.resources.as_file(part)) for part in _includes())]
        arguments = [f"-I{include}" for include in includes]
        arguments += ["--include_imports", f"--descriptor_set_out={out}", *wanted]
        done = subprocess.run(  # noqa: S603 - our own interpreter; the names are paths in our own folder
            [sys.executable, "-m", "grpc_tools.protoc", *arguments],
            capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, cwd=folder,
        )  # fmt: skip
    if done.returncode:
        words = done.stderr.replace(f"{folder}/", "").replace(f"{_NAME}:", "line ").strip()
        raise SchemaError(f"This is no Protobuf schema: {words[:500]}")
    return out.read_bytes()


def _includes() -> list[Any]:
    """Folders of the files that every schema may import: Google's types and Confluent's."""
    try:
        common = importlib.resources.files("google.type").joinpath("date.proto")
        google = importlib.resources.files("grpc_tools").joinpath("_proto")
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    return [importlib.resources.files(__package__).joinpath("include"), google, Path(str(common)).parents[2]]


def _missing(error: ImportError) -> ConnectError:
    return ConnectError(
        f"Protobuf schemas need a package that is not installed: {error}.",
        fix="Install it with: pip install 'connect-for-kafka[registry-protobuf]'.",
    )
