"""CloudEvents are those that Debezium's own converter made of the same change events, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError, SchemaError
from connect.api.plugin import PluginKind
from connect.api.records import Column
from connect.convert.json.converter import JsonConfig, JsonConverter
from connect.plugins.catalog import Catalog

NAME = "io.debezium.converters.CloudEventsConverter"
RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "fixtures/debezium/cloud-events.json").read_text(encoding="utf-8")
)
"""What CloudEventsConverter of Debezium 3.7 (PostgreSQL) and 3.6 (MySQL) wrote, run by itself on recorded events."""
READER = JsonConverter(JsonConfig.parse({"schemas.enable": "true"}))


def converter(**config: str) -> Any:
    plugin = Catalog.installed().find(NAME, PluginKind.CONVERTER)
    assert plugin is not None
    return Catalog.load(plugin)(plugin.config.parse(config), is_key=False)


def events(database: str) -> list[Column]:
    """Return the recorded events, each of its own schema as a column of one row."""
    texts = [
        json.dumps({"schema": RECORDED["schemas"][row["schema"]], "payload": row["payload"]}).encode()
        for row in RECORDED["rows"][database]
    ]
    return [column for text in texts for column in READER.decode("t", pa.array([text], pa.binary()))]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: f"{case['database']}-{'-'.join(case['config'])}")
def test_events_in_json_are_debeziums(case: dict[str, Any]) -> None:
    made = converter(**case["config"])
    found = [made.encode("recorded.t", column)[0].as_py().decode() for column in events(case["database"])]
    assert found == case["events"]


def test_tombstones_and_what_is_no_change_become_null_and_rows_without_a_schema_are_refused() -> None:
    made = converter()
    [column, *_] = events("postgres")
    rows = Column.from_rows([None, column.rows()[0], None], column.schema.as_optional())
    assert [text is None for text in made.encode("t", rows).to_pylist()] == [True, False, True]
    heartbeat = s.struct({"ts_ms": s.INT64}, name="io.debezium.connector.common.Heartbeat")
    assert made.encode("t", Column.from_rows([{"ts_ms": 1}], heartbeat)).to_pylist() == [None]
    with pytest.raises(RejectedRowsError, match="no schema"):
        made.encode("t", Column.from_rows([{"a": 1}], None))


class Registry:
    """Stands for the converter to Avro: it writes the frame of schema 7, and refuses the rows of each call in turn."""

    def __init__(self, *refused: Mapping[int, Exception]) -> None:
        self._refused = list(refused)

    def encode(self, topic: str, column: Column) -> pa.BinaryArray:
        refused = self._refused.pop(0) if self._refused else {}
        if refused:
            raise RejectedRowsError(refused)
        return pa.array([b"\0\0\0\0\7"] * len(column), pa.binary())


def in_avro(monkeypatch: pytest.MonkeyPatch, registry: Registry, url: str = "http://registry") -> Any:
    monkeypatch.setattr("connect.convert.avro.converter.avro", lambda *_, **__: registry)
    return converter(**{"data.serializer.type": "avro", "avro.schema.registry.url": url})


def test_records_tell_where_the_schema_is_and_not_the_registrys_password(monkeypatch: pytest.MonkeyPatch) -> None:
    [column, *_] = events("postgres")
    made = in_avro(monkeypatch, Registry(), "https://u:s3cr3t@registry:8081/contexts/.a:/,http://other")
    [text] = made.encode("t", column).to_pylist()
    assert json.loads(text)["dataschema"] == "https://registry:8081/contexts/.a:/schemas/ids/7"
    assert b"s3cr3t" not in text


def test_refused_rows_are_named_by_their_numbers_in_the_column(monkeypatch: pytest.MonkeyPatch) -> None:
    [column, *_] = events("postgres")
    here = column.rows()[0]
    there = {**here, "source": {**here["source"], "db": "elsewhere"}}
    rows = [None, here, here, None, there, there, here]
    bad = SchemaError("It does not fit.")
    made = in_avro(monkeypatch, Registry({1: bad}, {0: bad}))
    with pytest.raises(RejectedRowsError) as caught:
        made.encode("t", Column.from_rows(rows, column.schema.as_optional()))
    assert caught.value.rows == {2: bad, 4: bad}


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="no event of Avro has JSON"):
        converter(**{"serializer.type": "avro"})
    with pytest.raises(ConfigError, match=r"avro\.schema\.registry\.url"):
        converter(**{"data.serializer.type": "avro"})
    with pytest.raises(ConfigError, match=r"serializer\.type"):
        converter(**{"serializer.type": "xml"})
    with pytest.raises(ConfigError, match="attributes are made of the event"):
        converter(**{"metadata.source": "header"})
