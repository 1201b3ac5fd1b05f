"""Checks every recorded case of Java's converters; what differs on purpose is named with its reason in
differences.json.
"""

from __future__ import annotations

import base64
import importlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from golden_values import ElementlessError, NoPythonFormError, cases, same, same_schema, schema_of, value_of

from connect.api.errors import ConnectError, RejectedRowsError, SchemaError
from connect.api.plugin import Plugin, PluginKind
from connect.api.records import Column, Header
from connect.api.schema import Schema
from connect.convert.json.converter import JsonConverter
from connect.convert.plain.config import JsonConfig
from connect.convert.plugin import connect_plugins

FILES = ("json", "json-random", "converter-ByteArray", "converter-Number", "converter-String", "header-Simple")
DIFFERENCES = json.loads((Path(__file__).parent / "differences.json").read_text())


def ids_of(part: str) -> set[str]:
    return {case_id for difference in DIFFERENCES[part] for case_id in difference["ids"]}


def plugin_of(case: dict[str, Any]) -> Plugin:
    kind = PluginKind.HEADER_CONVERTER if case["role"] == "header" else PluginKind.CONVERTER
    return next(p for p in connect_plugins() if p.name == case["class"] and p.kind is kind)


def build(case: dict[str, Any]) -> Any:
    plugin = plugin_of(case)
    module, attribute = plugin.factory.split(":")
    config = plugin.config.parse({**case["config"], "converter.coercion": "java"})
    return getattr(importlib.import_module(module), attribute)(config, is_key=case["isKey"])


def write(converter: Any, case: dict[str, Any], schema: Schema | None, value: Any) -> bytes | None:
    if case["role"] == "header":
        header = Header(case.get("headerKey", "h"), value, schema)
        return converter.encode(case["topic"], header)
    if isinstance(converter, JsonConverter):
        return converter.encode_row(schema, value)
    return converter.encode(case["topic"], Column.from_rows([value], schema))[0].as_py()


def read(converter: Any, case: dict[str, Any], data: bytes | None) -> tuple[Schema | None, Any]:
    if case["role"] == "header":
        header = converter.decode(case["topic"], case.get("headerKey", "h"), data)
        return header.schema, header.value
    (column,) = converter.decode(case["topic"], pa.array([data], pa.binary()))
    return column.schema, column.rows()[0]


def wrong(case: dict[str, Any]) -> str | None:
    """What differs from the recorded result; None for nothing."""
    if case.get("op") == "validate":
        return validated(case)
    phase = case.get("error", {}).get("phase")
    try:
        converter = build(case)
    except ConnectError as error:
        return None if phase == "configure" else f"configure: {error}"
    if phase == "configure":
        return "configured"
    try:
        return compared(converter, case, phase)
    except NoPythonFormError as error:
        return f"no Python form: {error}"


def compared(converter: Any, case: dict[str, Any], phase: str | None) -> str | None:
    expected = None if case.get("bytes_base64") is None else base64.b64decode(case["bytes_base64"])
    data = expected
    if case["direction"] != "to":
        schema = schema_of(case["schema"])
        value = value_of(case["value"], schema)
        try:
            data = write(converter, case, schema, value)
        except ConnectError as error:
            return None if phase == "from" else f"from: {error}"
        if phase == "from":
            return f"written: {data!r}"
        if data != expected:
            return f"written {data!r}, expected {expected!r}"
    return None if case["direction"] == "from" else read_back(converter, case, data, phase)


def read_back(converter: Any, case: dict[str, Any], data: bytes | None, phase: str | None) -> str | None:
    try:
        schema, value = read(converter, case, data)
    except ConnectError as error:
        return None if phase == "to" else f"to: {error}"
    if phase == "to":
        return f"read: {value!r}"
    output = case["output"] or {"schema": None, "value": None}
    expected_schema = declared(output["schema"])
    expected = value_of(output["value"], expected_schema)
    if not same_schema(schema, expected_schema):
        return f"read {schema}, expected {expected_schema}"
    return None if same(value, expected) else f"read {value!r}, expected {expected!r}"


def declared(node: dict[str, Any] | None) -> Schema | None:
    """A Connect schema has an element type: what Java gives an array or map of none is read schemaless."""
    try:
        return schema_of(node)
    except ElementlessError:
        return None


def validated(case: dict[str, Any]) -> str | None:
    config = next(p.config for p in connect_plugins() if p.name == case["class"])
    found = {v.name: list(v.errors) for v in config.validate_keys(case["config"]) if v.errors}
    return None if found == case["errors"] else f"found {found}, expected {case['errors']}"


@pytest.mark.parametrize("name", FILES)
def test_every_recorded_case_gives_javas_result_or_a_difference_on_purpose(name: str) -> None:
    found = {case["id"]: wrong(case) for case in cases(name)}
    known = ids_of(name)
    unexpected = {case_id: why for case_id, why in found.items() if why is not None and case_id not in known}
    stale = {case_id for case_id in known if found.get(case_id) is None}
    assert not unexpected, f"{len(unexpected)} cases\n" + "\n".join(f"{i}: {why}" for i, why in unexpected.items())
    assert not stale


def written_in_columns(case: dict[str, Any]) -> bytes | None:
    """What the columnar path writes for a recorded value; None where it has no Arrow form."""
    try:
        schema = schema_of(case["schema"])
        value = value_of(case["value"], schema)
        array = Column.from_rows([value], schema).arrow()
    except (NoPythonFormError, ElementlessError, SchemaError):
        return None
    if value is None:
        return None
    settings = {k: v for k, v in case["config"].items() if k != "converter.type"}
    return JsonConverter(JsonConfig.parse(settings)).encode("t", Column.from_arrow(array, schema))[0].as_py()


@pytest.mark.parametrize(("name", "at_least"), [("json", 180), ("json-random", 400)])
def test_the_columnar_path_writes_the_same_json_as_java(name: str, at_least: int) -> None:
    recorded = [c for c in cases(name) if c.get("direction") in {"from", "roundtrip"} and c.get("bytes_base64")]
    written = {c["id"]: (written_in_columns(c), base64.b64decode(c["bytes_base64"])) for c in recorded}
    compared_cases = {i: texts for i, texts in written.items() if texts[0] is not None}
    assert len(compared_cases) >= at_least
    wrong_cases = {i for i, t in compared_cases.items() if not same(json.loads(t[0]), json.loads(t[1]))}
    assert wrong_cases == ids_of("json-columns") & compared_cases.keys()


def strictly_read(case: dict[str, Any]) -> str | None:
    """How a strict read differs from Java's; None when it does not or rejects the row."""
    data = base64.b64decode(case["bytes_base64"])
    try:
        _, value = read(JsonConverter(JsonConfig.parse(case["config"])), case, data)
    except (RejectedRowsError, SchemaError):  # SchemaError: a date kept in Arrow that Python has no form for
        return None
    if "error" in case:
        return f"read {value!r} where Java fails"
    output = case["output"] or {"schema": None, "value": None}
    expected_schema = declared(output["schema"])
    expected = value_of(output["value"], expected_schema)
    return None if same(value, expected) else f"read {value!r}, Java {expected!r}"


def test_a_strict_read_rejects_a_row_or_reads_what_java_reads() -> None:
    recorded = [c for c in cases("json") if c.get("direction") == "to" and c["bytes_base64"] is not None]
    found = {case["id"]: strictly_read(case) for case in recorded}
    known = ids_of("json-strict")
    unexpected = {case_id: why for case_id, why in found.items() if why is not None and case_id not in known}
    assert not unexpected, "\n".join(f"{i}: {why}" for i, why in unexpected.items())
    assert not {case_id for case_id in known if found.get(case_id) is None}
