"""The conformance kit applied to the file connectors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from connect.api.records import Record
from connect.testing.drivers import Row
from connect.testing.sink import SinkSuite
from connect.testing.source import SourceSuite
from connectors.file import plugin

OWN_GROUP = {"test_definitions_are_complete": "Kafka's file connectors declare their keys without a group."}
LINE = re.compile(
    r"(?:Struct)?\{id=(?P<id>\d+), ?tie=(?P<tie>\d+)(?:, ?text=(?P<text>.*?))?(?:, ?whole=(?P<whole>-?\d+|null))?"
    r"(?:, ?number=(?P<number>[^\s,]+))?(?:,added=[a-z0-9 ]+)?\}\n(?=(?:Struct)?\{id=|\Z)",
    re.DOTALL,
)
"""A line of the sink, with a schema or without; the text in it may hold newlines."""


class SourceFile:
    """Rows as JSON lines of one file."""

    in_order = True

    def __init__(self, folder: Path) -> None:
        self._path = folder / "in"

    def reset(self) -> None:
        self._path.unlink(missing_ok=True)

    def config(self) -> Mapping[str, str]:
        return {"file": str(self._path), "topic": "lines", "batch.size": "7"}

    def insert(self, rows: Sequence[Row]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def insert_unreadable(self, row: Row) -> None:
        with self._path.open("ab") as file:
            file.write(b"\xff" + json.dumps(row).encode() + b"\n")

    def expected(self) -> Sequence[Row]:
        lines = self._path.read_bytes().split(b"\n") if self._path.exists() else [b""]
        return [json.loads(line) for line in lines[:-1] if not line.startswith(b"\xff")]

    def row_of(self, record: Record) -> Row:
        row: Row = json.loads(record.value)
        return row


class SinkFile:
    """The sink's file, read as the text of structs and maps."""

    topic = "rows"
    other_topics = ("more-rows",)
    rows_per_claim = 1

    def __init__(self, folder: Path) -> None:
        self._path = folder / "out"

    def reset(self) -> None:
        self._path.unlink(missing_ok=True)

    def config(self) -> Mapping[str, str]:
        return {"file": str(self._path)}

    def read_back(self) -> Sequence[Row]:
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        found = list(LINE.finditer(text))
        assert "".join(m.group() for m in found) == text, "The sink wrote lines that are no rows."
        return [_row(m) for m in found]


def _row(found: re.Match[str]) -> Row:
    # Java leaves a null out of a struct's text, and writes it in a map's.
    text, whole, number = (None if found[name] == "null" else found[name] for name in ("text", "whole", "number"))
    return {
        "id": int(found["id"]),
        "tie": int(found["tie"]),
        "text": text,
        "whole": None if whole is None else int(whole),
        "number": None if number is None else float(number),
    }


class TestFileSource(SourceSuite):
    plugin = plugin.SOURCE
    waivers = OWN_GROUP

    @pytest.fixture
    def driver(self, tmp_path: Path) -> SourceFile:
        return SourceFile(tmp_path)


class TestFileSink(SinkSuite):
    plugin = plugin.SINK
    waivers = OWN_GROUP

    @pytest.fixture
    def driver(self, tmp_path: Path) -> SinkFile:
        return SinkFile(tmp_path)
