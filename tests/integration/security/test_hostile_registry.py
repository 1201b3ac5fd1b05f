"""A schema registry that wants a worker's memory, time, token or terminal gets an error that names it, and no more."""

from __future__ import annotations

import json
import re
import resource
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hostile_http import ENDLESS, Answer, Handler, HostileServer, hostile, nested, redirect, say
from hostile_texts import ANSI, MIB

from connect.api.errors import RejectedRowsError, RetriableError, SchemaError
from connect.api.plugin import PluginKind
from connect.convert.registry.client import Registered, RegistryClient
from connect.convert.registry.config import RegistryConfig
from connect.convert.registry.transport import RegistryUnusableError, Transport
from connect.lib.printable import printable
from connect.plugins.catalog import Catalog

pytestmark = pytest.mark.attacks

TOKEN = "Kx7-registry-9Qz"
MOST_MEMORY_MIB = 200
CLASSES = {
    "AVRO": "io.confluent.connect.avro.AvroConverter", "JSON": "io.confluent.connect.json.JsonSchemaConverter",
    "PROTOBUF": "io.confluent.connect.protobuf.ProtobufConverter",
}  # fmt: skip
DOUBLED = 28
"""How often a type names the next one twice: spelt out these are 2^28 types."""


def settings(url: str, **more: str) -> dict[str, str]:
    return {"schema.registry.url": url, "max.retries": "0", "http.read.timeout.ms": "1000", **more}


def asked_by_id(url: str) -> Any:
    given = settings(url, **{"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": TOKEN})
    return RegistryClient(Transport(RegistryConfig.parse(given))).by_id(1)


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_answer_is_given_up(name: str) -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with hostile(ENDLESS[name]) as server:
        with pytest.raises(RetriableError, match=r"The answer (is longer than 16 MiB|took longer than 1 s)"):
            asked_by_id(server.url)
        assert len(server.asked) == 1
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) >> 10 < MOST_MEMORY_MIB


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with hostile(say({"schema": '"string"'})) as other, hostile(redirect(f"{other.url}/x", status)) as server:
        with pytest.raises(RegistryUnusableError, match=f"HTTP {status}"):
            asked_by_id(server.url)
        assert server.asked[0][2]["authorization"] == f"Bearer {TOKEN}"
        assert other.asked == []


WRONG: dict[str, Answer] = {
    "list": say([]), "null": say(None), "nothing": say({}), "text is a number": say({"schema": 5}), "deep": nested(),
    "kind is a list": say({"schema": "x", "schemaType": [1]}),
    "references are text": say({"schema": "x", "references": "abc"}),
    "a reference without a subject": say({"schema": "x", "references": [{"name": "a"}]}),
    "a version that is no number": say(b'{"schema":"x","references":[{"name":"a","subject":"b","version":NaN}]}'),
    "an endless version": say(b'{"schema":"x","references":[{"name":"a","subject":"b","version":1e999}]}'),
    "an endless error code": say(b'{"error_code":1e999,"message":"x"}', 404),
    "half a character": say(b'{"schema":"\\ud800"}'), "no UTF-8": say(b'{"schema":"\xff"}'),
    "a long number": say(b'{"schema":"x","version":' + b"9" * 6000 + b"}"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_of_other_types_is_no_registrys(name: str) -> None:
    with hostile(WRONG[name]) as server, pytest.raises(RegistryUnusableError, match="is no schema registry"):
        asked_by_id(server.url)


@pytest.mark.parametrize("schema_id", [-1, 2**31, 2**64])
def test_an_id_that_no_frame_holds_is_refused(schema_id: int) -> None:
    with hostile(say({"id": schema_id})) as server:
        client = RegistryClient(Transport(RegistryConfig.parse(settings(server.url))))
        with pytest.raises(RegistryUnusableError):
            client.register("t-value", Registered('"string"'))


def test_what_it_says_steers_no_terminal() -> None:
    with hostile(say({"error_code": 42201, "message": ANSI}, 422)) as server, pytest.raises(SchemaError) as refused:
        asked_by_id(server.url)
    shown = printable(str(refused.value))
    assert "red" in shown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)


def answers(kind: str, schema: Any, references: Callable[[int], list[dict[str, Any]]] = lambda _: []) -> Answer:
    """Give one schema for every id and version; `references` of a version, 0 for an id."""
    text = schema if isinstance(schema, str) else json.dumps(schema)

    def answer(to: Handler) -> None:
        if to.path.endswith("/versions"):
            return say([])(to)
        version = int(to.path.rpartition("/versions/")[2]) if "/versions/" in to.path else 0
        return say({"schema": text, "schemaType": kind, "references": references(version)})(to)

    return answer


def read_one_row(kind: str, url: str) -> None:
    plugin = Catalog.installed().find(CLASSES[kind], PluginKind.CONVERTER)
    assert plugin is not None
    converter = Catalog.load(plugin)(plugin.config.parse(settings(url)), is_key=False)
    converter.decode("t", pa.array([b"\0\0\0\0\1" + (b"{}" if kind == "JSON" else b"\0\0")], pa.binary()))


def doubled_json() -> Any:
    two = [
        {"type": "object", "properties": {side: {"$ref": f"#/definitions/t{i + 1}"} for side in "lr"}}
        for i in range(DOUBLED)
    ]
    types = {f"t{i}": node for i, node in enumerate(two)} | {f"t{DOUBLED}": {"type": "string"}}
    return {"$ref": "#/definitions/t0", "definitions": types}


def doubled_all_of() -> Any:
    types: dict[str, Any] = {f"t{i}": {"allOf": [{"$ref": f"#/d/t{i + 1}"}] * 2} for i in range(DOUBLED)}
    return {"allOf": [{"$ref": "#/d/t0"}], "d": types | {f"t{DOUBLED}": {"type": "string"}}}


def doubled_avro() -> Any:
    node: Any = {"type": "record", "name": f"t{DOUBLED}", "fields": [{"name": "x", "type": "string"}]}
    for i in range(DOUBLED - 1, -1, -1):
        fields = [{"name": "l", "type": node}, {"name": "r", "type": f"t{i + 1}"}]
        node = {"type": "record", "name": f"t{i}", "fields": fields}
    return node


def doubled_protobuf() -> str:
    messages = "".join(f"message T{i} {{ T{i + 1} l = 1; T{i + 1} r = 2; }}\n" for i in range(DOUBLED))
    return f'syntax = "proto3";\n{messages}message T{DOUBLED} {{ string x = 1; }}\n'


PROTO = 'syntax = "proto3";'
BAD_SCHEMAS: dict[str, tuple[str, Any]] = {
    "JSON, doubled": ("JSON", doubled_json()),
    "JSON, doubled allOf": ("JSON", doubled_all_of()),
    "JSON, allOf of itself": ("JSON", {"allOf": [{"$ref": "#"}]}),
    "JSON, deep": ("JSON", "[" * 50_000 + "]" * 50_000),
    "JSON, wide": ("JSON", {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(100_000)}}),
    "JSON, properties are a list": ("JSON", {"type": "object", "properties": [1]}),
    "JSON, a reference is a number": ("JSON", {"$ref": 5}),
    "JSON, oneOf is a number": ("JSON", {"oneOf": 5}),
    "JSON, a title is a list": ("JSON", {"type": "string", "title": ["x"]}),
    "Avro, doubled": ("AVRO", doubled_avro()),
    "Avro, deep": ("AVRO", '{"type":"array","items":' * 900 + '"string"' + "}" * 900),
    "Avro, a name is a list": ("AVRO", {"type": "record", "name": "A", "fields": [{"name": [], "type": "int"}]}),
    "Protobuf, doubled": ("PROTOBUF", doubled_protobuf()),
    "Protobuf, a file of the machine": ("PROTOBUF", f'{PROTO} import "/etc/passwd"; message A {{}}'),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_SCHEMAS)
def test_a_hostile_schema_is_a_bad_row(name: str) -> None:
    kind, schema = BAD_SCHEMAS[name]
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with hostile(answers(kind, schema)) as server:
        require_refused(kind, server)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) >> 10 < MOST_MEMORY_MIB


NAMES = ("grpc_tools.py", "../x.proto", "/tmp/x.proto", "-I.proto", "a\0.proto", ".hidden.proto")


@pytest.mark.parametrize("name", NAMES)
def test_a_reference_that_is_named_as_another_file_is_a_bad_row(name: str) -> None:
    def first_alone(version: int) -> list[dict[str, Any]]:
        return [] if version else [{"name": name, "subject": "s", "version": 1}]

    with hostile(answers("PROTOBUF", f"{PROTO} message A {{}}", first_alone)) as server:
        assert "no relative path of a .proto file" in require_refused("PROTOBUF", server)


def test_references_without_an_end_are_a_bad_row() -> None:
    def next_one(version: int) -> list[dict[str, Any]]:
        return [{"name": f"n{version}", "subject": "s", "version": version + 1}]

    with hostile(answers("AVRO", '"string"', next_one)) as server:
        assert "without an end" in require_refused("AVRO", server)


def test_references_to_very_long_schemas_are_a_bad_row() -> None:
    def many(version: int) -> list[dict[str, Any]]:
        return [] if version else [{"name": f"n{i}", "subject": "s", "version": i + 1} for i in range(1000)]

    long = {"type": "record", "name": "r", "doc": "x" * MIB, "fields": []}
    with hostile(answers("AVRO", long, many)) as server:
        assert "longer than 16 MiB together" in require_refused("AVRO", server)
        assert len(server.asked) < 30


def require_refused(kind: str, server: HostileServer) -> str:
    """Require that the row is refused for its schema, and return why."""
    with pytest.raises(RejectedRowsError) as refused:
        read_one_row(kind, server.url)
    error = refused.value.rows[0]
    assert isinstance(error, SchemaError)
    return str(error)
