"""Every recorded case of Java's transforms, predicates and chains, row by row and in columns.

What differs on purpose is named with its reason in differences_transforms.json; a stale entry fails.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from golden_values import FIXTURES, ElementlessError, NoPythonFormError, cases, same, same_schema, schema_of, value_of

from connect.api.arrow import arrow_type
from connect.api.errors import ConfigError, ConnectError, RejectedRowsError, SchemaError
from connect.api.plugin import Plugin
from connect.api.records import Batch, Column, Consumed, Header, TopicPartition
from connect.api.schema import DATE, TIME, TIMESTAMP, Schema
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_chain
from connect.runtime.records.chain import apply_chain
from connect.runtime.settings.connector_config import SinkConnectorConfig
from connect.transforms.plugin import connect_plugins

FILES = sorted(path.stem for path in FIXTURES.glob("smt-*.jsonl"))
DIFFERENCES = json.loads((Path(__file__).parent / "differences_transforms.json").read_text())
ROWS, COLUMNS = "rows", "columns"


def plugin_of(case: dict[str, Any]) -> Plugin:
    return next(p for p in connect_plugins() if p.name == case["class"])


def build(case: dict[str, Any]) -> Any:
    plugin = plugin_of(case)
    return Catalog.load(plugin)(plugin.config.parse(case["config"]))


def typed(node: dict[str, Any]) -> tuple[Schema | None, Any]:
    """A recorded schema and value; an array of no common type is schemaless here."""
    try:
        schema = schema_of(node["schema"])
    except ElementlessError:
        schema = None
    return schema, value_of(node["value"], schema)


def column_of(node: dict[str, Any], form: str) -> Column | None:
    if form == COLUMNS and is_instant(node):
        schema = schema_of(node["schema"])
        assert schema is not None
        return Column.from_arrow(instant(node).cast(arrow_type(schema)), schema)
    schema, value = typed(node)
    if schema is None and value is None:
        return None
    column = Column.from_rows([value], schema)
    if form == ROWS or schema is None:
        return column
    try:
        return Column.from_arrow(column.arrow(), schema)
    except SchemaError:
        raise NoPythonFormError("no Arrow form") from None


def is_instant(node: dict[str, Any]) -> bool:
    """A whole date, time or moment: in a column it may lie in any year."""
    name = (node["schema"] or {}).get("name")
    return name in {DATE, TIME, TIMESTAMP} and "instant" in (node["value"] or ())


def instant(node: dict[str, Any]) -> pa.Array:
    """The number that a column holds for it."""
    ms = int(node["value"]["instant"])
    if node["schema"]["name"] != DATE:
        return pa.array([ms], pa.int64() if node["schema"]["name"] == TIMESTAMP else pa.int32())
    days, odd = divmod(ms, 86_400_000)
    if odd or abs(days) >= 2**31:
        raise NoPythonFormError(f"date {ms}")
    return pa.array([days], pa.int32())


def batch_of(record: dict[str, Any], form: str) -> Batch:
    partition = record["kafkaPartition"]
    consumed = None
    if record["kind"] == "sink":
        offset = record["kafkaOffset"]
        offsets = pa.array([offset], pa.int64())
        consumed = Consumed(TopicPartition(record["topic"], partition), offsets, offset + 1)
    headers = [Header(h["key"], *reversed(typed(h))) for h in record["headers"]]
    return Batch(
        topic=record["topic"],
        values=column_of(record["value"], form) or Column.nulls(1),
        keys=column_of(record["key"], form),
        headers=[headers] if headers else None,
        timestamps_ms=None if record["timestamp"] is None else pa.array([record["timestamp"]], pa.int64()),
        partition=partition,
        consumed=consumed,
    )


def wrong_record(batch: Batch, record: dict[str, Any], form: str) -> str | None:
    if (batch.topic, batch.partition) != (record["topic"], record["kafkaPartition"]):
        return f"topic {batch.topic}/{batch.partition}, expected {record['topic']}/{record['kafkaPartition']}"
    keys = batch.keys or Column.nulls(1)
    for name, column in (("key", keys), ("value", batch.values)):
        if form == COLUMNS and is_instant(record[name]):
            expected = instant(record[name])
            found = column.arrow().cast(expected.type)
            why = None if found == expected else f"{found}, expected {expected}"
        else:
            why = wrong_value((column.schema, column.rows()[0]), typed(record[name]))
        if why is not None:
            return f"{name}: {why}"
    headers = batch.headers[0] if batch.headers is not None else ()
    if [h.key for h in headers] != [h["key"] for h in record["headers"]]:
        return f"headers {headers}"
    found = (wrong_value((h.schema, h.value), typed(r)) for h, r in zip(headers, record["headers"], strict=True))
    return next((why for why in found if why is not None), None)


def wrong_value(found: tuple[Schema | None, Any], expected: tuple[Schema | None, Any]) -> str | None:
    if not same_schema(found[0], expected[0]):
        return f"schema {found[0]}, expected {expected[0]}"
    return None if same(plain(found[1]), plain(expected[1])) else f"{found[1]!r}, expected {expected[1]!r}"


def plain(value: Any) -> Any:
    """A decimal without the scale that its schema gives it anyway."""
    if isinstance(value, Decimal):
        return value.normalize()
    if isinstance(value, list):
        return [plain(v) for v in value]
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def wrong_error(error: Exception, case: dict[str, Any], phase: str) -> str | None:
    expected = case.get("error")
    if expected is None or expected["phase"] != phase:
        return f"{phase}: {error}"
    if not expected["class"].startswith("org.apache.kafka."):
        return None
    if isinstance(error, RejectedRowsError):
        error = error.rows[0]
    messages = [p.message for p in error.problems] if isinstance(error, ConfigError) else [str(error)]
    return None if any_width(expected["message"]) in map(any_width, messages) else f"{phase}: {messages}"


def any_width(message: str) -> str:
    """A schemaless number has no width."""
    return re.sub(r"java\.lang\.(Byte|Short|Integer|Long)", "java.lang.Long", message)


def wrong(case: dict[str, Any], form: str) -> str | None:
    if case.get("op") == "validate":
        found = {v.name: list(v.errors) for v in plugin_of(case).config.validate_keys(case["config"]) if v.errors}
        return None if found == case["errors"] else f"found {found}, expected {case['errors']}"
    phase = "configure"
    try:
        built = build(case)
        if case.get("error", {}).get("phase") == phase:
            return "configured"
        phase = "apply"
        batch = batch_of(case["input"], form)
        if hasattr(built, "test"):
            return None if built.test(batch).to_pylist() == [case["output"]] else "another answer"
        return wrong_output(built.apply(batch), case, form)
    except NoPythonFormError as error:
        return f"no Python form: {error}"
    except ConnectError as error:
        return wrong_error(error, case, phase)


def wrong_output(made: Any, case: dict[str, Any], form: str) -> str | None:
    if case.get("error"):
        return f"made a record, expected {case['error']['message']}"
    if case["output"] is None:
        return None if not made else "not dropped"
    (batch,) = made
    return wrong_record(batch, case["output"], form)


def assert_only_known(found: dict[str, str | None], part: str, form: str) -> None:
    listed = [d for d in DIFFERENCES[part] if d.get("form", form) == form]
    known = {case_id for difference in listed for case_id in difference["ids"]}
    unexpected = {case_id: why for case_id, why in found.items() if why is not None and case_id not in known}
    stale = {case_id for case_id in known if found.get(case_id) is None}
    assert not unexpected, f"{len(unexpected)} cases\n" + "\n".join(f"{i}: {why}" for i, why in unexpected.items())
    assert not stale


@pytest.mark.parametrize("form", [ROWS, COLUMNS])
@pytest.mark.parametrize("name", [*FILES, "predicates"])
def test_every_recorded_case_gives_javas_result_or_a_difference_on_purpose(name: str, form: str) -> None:
    assert_only_known({case["id"]: wrong(case, form) for case in cases(name)}, name, form)


def chained(case: dict[str, Any], form: str) -> str | None:
    catalog = Catalog(connect_plugins())
    settings = {"name": "c", "connector.class": "c", "topics": "orders", **case["config"]}
    phase = "configure"
    try:
        links = build_chain(catalog, SinkConnectorConfig.parse(settings), {})
        if case.get("error", {}).get("phase") == phase:
            return "configured"
        phase = "apply"
        made = apply_chain(links, batch_of(case["input"], form), raise_first)
    except NoPythonFormError as error:
        return f"no Python form: {error}"
    except ConnectError as error:
        return wrong_error(error, case, phase)
    return wrong_output(made, case, form)


def raise_first(_: str, __: Batch, rows: Any) -> None:
    raise next(iter(rows.values()))


@pytest.mark.parametrize("form", [ROWS, COLUMNS])
def test_every_recorded_chain_gives_javas_result_or_a_difference_on_purpose(form: str) -> None:
    assert_only_known({case["id"]: chained(case, form) for case in cases("chains")}, "chains", form)


def test_at_least_95_of_100_recorded_cases_are_the_same_in_rows_or_columns() -> None:
    total = sum(1 for name in [*FILES, "predicates", "chains"] for _ in cases(name))
    listed = {i for part in DIFFERENCES.values() for d in part if "form" not in d for i in d["ids"]}
    assert len(listed) <= 0.05 * total
