"""Runs protoc, which turns the text of .proto files into descriptors, in a process of its own.

The names and texts come from a schema registry and are not trusted: a name stands for a file of the schemas' own folder
and for nothing else, least of all for an option of protoc.
"""

from __future__ import annotations

import importlib.resources
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from connect.api.errors import ConnectError, RetriableError, SchemaError
from connect.lib import python_child

OWN_NAME: Final = "connect_schema.proto"
"""The schema itself, which has no file, gets this name; protoc's messages name its lines by it."""
_TIMEOUT_S: Final = 60
_NAME_CHARS: Final = 500
_PART_BYTES: Final = 200
# Folders and files begin with a letter, a digit or an underscore: `.hidden`, `..`, `-I/etc`, `@file` do not.
_PART: Final = re.compile(r"\w[^/\\:;=\x00-\x1f\x7f]*")
_SHOWN_CHARS: Final = 100


def check_name(name: str) -> None:
    """Check the name by which a schema is imported. SchemaError: it is no plain relative path of a .proto file."""
    parts = name.split("/")
    if len(name) <= _NAME_CHARS and name.endswith(".proto") and all(_is_part(part) for part in parts):
        return
    shown = name if len(name) <= _SHOWN_CHARS else f"{name[:_SHOWN_CHARS]}…"
    raise SchemaError(
        f"A Protobuf schema is referred to by a name that is no relative path of a .proto file: {shown!r}.",
        fix="Register the schema with references named as its imports are, such as shop/order.proto.",
    )


def descriptor_set(sources: Sequence[tuple[str, str]], wanted: Sequence[str]) -> bytes:
    """Return a FileDescriptorSet, serialized, of the files `wanted` and all that they import.

    `sources`: name and text of each file there is. SchemaError with protoc's words: one is no schema. RetriableError:
    protoc has no temporary files to work with.
    """
    for name in (*wanted, *(name for name, _ in sources)):
        check_name(name)
    with _no_room_is_no_bad_schema(), tempfile.TemporaryDirectory(prefix="connect-proto-") as folder:
        schemas, work = Path(folder) / "schemas", Path(folder) / "work"
        schemas.mkdir()
        work.mkdir()
        for name, text in sources:
            _write(schemas / name, name, text)
        return _run(schemas, work, wanted)


def _is_part(part: str) -> bool:
    return _PART.fullmatch(part) is not None and len(part.encode(errors="replace")) <= _PART_BYTES


def _write(path: Path, name: str, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise SchemaError(f"Protobuf schema {name!r} and another one are named as a file and a folder.") from error
    except UnicodeEncodeError as error:
        raise SchemaError(
            f"The text or the name of the Protobuf schema {name!r} is no Unicode: {error.reason}."
        ) from error


def _run(schemas: Path, work: Path, wanted: Sequence[str]) -> bytes:
    out = work / "descriptors.bin"
    with ExitStack() as stack:
        includes = [schemas, *(stack.enter_context(importlib.resources.as_file(part)) for part in _includes())]
        arguments = [f"-I{include}" for include in includes]
        arguments += ["--include_imports", f"--descriptor_set_out={out}", *wanted]
        pipe = subprocess.PIPE
        argv = python_child.command("grpc_tools.protoc", *arguments)
        with python_child.start(argv, folder=work, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as process:
            try:
                _, said = process.communicate(timeout=_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                raise SchemaError(f"A Protobuf schema was not compiled within {_TIMEOUT_S} s.") from None
            finally:
                process.kill()
    if process.returncode:
        words = said.decode(errors="replace").replace(f"{schemas}/", "").replace(f"{OWN_NAME}:", "line ").strip()
        raise SchemaError(f"This is no Protobuf schema: {words[:500]}")
    return out.read_bytes()


@contextmanager
def _no_room_is_no_bad_schema() -> Iterator[None]:
    """Turn an OSError into a RetriableError.

    A full disk or a read-only folder says nothing about rows: none may be given up because of it.
    """
    try:
        yield
    except OSError as error:
        raise RetriableError(
            f"A Protobuf schema cannot be compiled, as no temporary file can be written: {error}.",
            fix="Free space in the folder for temporary files, or name one that can be written to in TMPDIR.",
        ) from error


def _includes() -> list[Any]:
    """Return the folders of the files that every schema may import: Google's types and Confluent's."""
    try:
        common = importlib.resources.files("google.type").joinpath("date.proto")
        google = importlib.resources.files("grpc_tools").joinpath("_proto")
    except ModuleNotFoundError as error:
        raise missing(error) from error
    return [importlib.resources.files(__package__).joinpath("include"), google, Path(str(common)).parents[2]]


def missing(error: ImportError) -> ConnectError:
    """Return the error for a package of Protobuf schemas that is not installed."""
    return ConnectError(
        f"Protobuf schemas need a package that is not installed: {error}.",
        fix="Install it with: pip install 'connect-for-kafka[registry-protobuf]'.",
    )
