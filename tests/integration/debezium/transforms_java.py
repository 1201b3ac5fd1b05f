"""Applies transforms to the same records in Java, with Debezium's classes, and here."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from debezium_peer import plugin_folder

from connect.api.errors import ConnectError
from connect.api.records import Batch, Column, Header
from connect.api.schema import Schema
from connect.convert.json.converter import JsonConfig, JsonConverter
from connect.plugins.catalog import Catalog
from connect.tools.services.java import find_java
from connect.tools.services.java_connect import worker_jars

_PROGRAM = Path(__file__).parent / "java/TransformRun.java"
_CONVERTER = JsonConverter(JsonConfig.parse({"schemas.enable": "true"}), is_key=False)
_CATALOG = Catalog.installed()
Told = list[dict[str, Any]] | str
"""Holds records as topic, partition, value and names of headers; an error may stand in place of a record, or of all."""


@dataclass(frozen=True)
class Case:
    """Holds a transform, and the records to which it is applied, each with its headers."""

    name: str
    config: Mapping[str, str]
    schema: Schema
    rows: Sequence[Any]
    headers: Sequence[Sequence[Header]] = ()
    topic: str = "shop.orders"

    @property
    def headers_of_rows(self) -> Sequence[Sequence[Header]]:
        return self.headers or [()] * len(self.rows)

    def here(self) -> Told:
        """Return what becomes of each record here, each transformed alone."""
        plugin = _CATALOG.find(self.name)
        assert plugin is not None
        try:
            transform = Catalog.load(plugin)(plugin.config.parse(self.config))
        except ConnectError:
            return "refused"
        return [self._one(transform, row, found) for row, found in zip(self.rows, self.headers_of_rows, strict=True)]

    def _one(self, transform: Any, row: Any, headers: Sequence[Header]) -> dict[str, Any]:
        try:
            made = transform.apply(Batch(self.topic, Column.from_rows([row], self.schema), headers=[headers]))
        except ConnectError:
            return {"error": True}
        (batch,) = made
        return {
            "topic": batch.topic, "partition": batch.partition, "value": _json(batch.values)[0],
            "headers": [header.key for header in (batch.headers or [()])[0]],
        }  # fmt: skip

    def line(self) -> str:
        """Return the case as a line that the Java program reads."""
        values = _json(Column.from_rows(list(self.rows), self.schema))
        records = [
            {"topic": self.topic, "value": value, "headers": [[h.key, _header(h)] for h in headers]}
            for value, headers in zip(values, self.headers_of_rows, strict=True)
        ]
        return json.dumps({"class": self.name, "config": dict(self.config), "records": records})


def in_java(cases: Sequence[Case]) -> list[Told]:
    """Return what becomes of the records of each case in Java."""
    path = f"{worker_jars()}/*:{plugin_folder('postgres')}/*"
    command = [str(find_java().launcher), "-cp", path, str(_PROGRAM)]
    text = "".join(f"{case.line()}\n" for case in cases)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("[", "{"))]
    return ["refused" if isinstance(line, dict) else [_told(one) for one in line] for line in lines]


def _told(one: dict[str, Any]) -> dict[str, Any]:
    return {"error": True} if "error" in one else one


def _json(column: Column) -> list[Any]:
    texts = _CONVERTER.encode("t", column).to_pylist()
    return [None if text is None else json.loads(text) for text in texts]


def _header(header: Header) -> Any:
    return _json(Column.from_rows([header.value], header.schema))[0]
