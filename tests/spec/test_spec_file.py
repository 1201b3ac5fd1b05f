"""Checks the file connectors by the conformance kit."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
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


class SourceFolder:
    """Rows as files of JSON lines, or of CSV, each of which is whole when it appears."""

    in_order = False

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder = folder / "in"
        self._kind = kind
        self._files = 0

    def reset(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self._files = 0

    def config(self) -> Mapping[str, str]:
        types = "id:int64,tie:int64,whole:int64,number:float64"
        typed = {"csv.types": types, "csv.multiline": "true"} if self._kind == "csv" else {}
        return {
            "folder": str(self._folder), "format": self._kind, "topic": "rows", "batch.max.rows": "7",
            "poll.interval.ms": "20", **typed,
        }  # fmt: skip

    def insert(self, rows: Sequence[Row]) -> None:
        self._add("".join(self._line(row) for row in rows).encode())

    def insert_unreadable(self, row: Row) -> None:
        self._add(b"{oops\n" if self._kind == "json" else f"x,{row['tie']},,,\n".encode())

    def expected(self) -> Sequence[Row]:
        rows = [row for file in sorted(self._folder.iterdir()) for row in self._rows(file.read_bytes().decode())]
        return [row for row in rows if row is not None]

    def row_of(self, record: Record) -> Row:
        row: Row = record.value
        return row

    def _add(self, data: bytes) -> None:
        self._files += 1
        header = b"id,tie,text,whole,number\n" if self._kind == "csv" else b""
        hidden = self._folder / f".{self._files:03d}"
        hidden.write_bytes(header + data)
        hidden.rename(self._folder / f"{self._files:03d}.{self._kind}")

    def _line(self, row: Row) -> str:
        if self._kind == "json":
            return json.dumps(row, ensure_ascii=False) + "\n"
        text = "" if row["text"] is None else '"' + row["text"].replace('"', '""') + '"'
        numbers = ("" if row[name] is None else repr(row[name]) for name in ("whole", "number"))
        return f"{row['id']},{row['tie']},{text},{','.join(numbers)}\n"

    def _rows(self, text: str) -> Iterator[Row | None]:
        if self._kind == "json":
            yield from (None if line == "{oops" else json.loads(line) for line in text.split("\n") if line)
            return
        for read in list(csv.reader(io.StringIO(text, newline="")))[1:]:
            if read[0] != "x":
                yield _csv_row(read, is_null=f"{read[0]},{read[1]},," in text)


def _csv_row(read: Sequence[str], *, is_null: bool) -> Row:
    return {
        "id": int(read[0]), "tie": int(read[1]), "text": None if is_null else read[2],
        "whole": int(read[3]) if read[3] else None, "number": float(read[4]) if read[4] else None,
    }  # fmt: skip


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


class TestJsonFiles(SourceSuite):
    plugin = plugin.DATA_FILES

    @pytest.fixture
    def driver(self, tmp_path: Path) -> SourceFolder:
        return SourceFolder(tmp_path, "json")


class TestCsvFiles(SourceSuite):
    plugin = plugin.DATA_FILES

    @pytest.fixture
    def driver(self, tmp_path: Path) -> SourceFolder:
        return SourceFolder(tmp_path, "csv")
