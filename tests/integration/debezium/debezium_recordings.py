"""Stores records of Debezium's own connector in files: each schema once, and only the beginnings of long values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from debezium_peer import Found

FOLDER = Path(__file__).parents[2] / "fixtures" / "debezium"
NAME = "recorded"
RECORDINGS = "CONNECT_RECORD_DEBEZIUM"
"""This variable names the folder in which Debezium's records are stored, for tests that run without Debezium."""
_LONG = 200


def write(file: Path, found: Found, name: str) -> None:
    """Write the records that a connector of this name sent, each on its own line, with NAME in place of the name."""
    schemas: list[Any] = []

    def packed(part: Any) -> Any:
        if part is None:
            return None
        if part["schema"] not in schemas:
            schemas.append(part["schema"])
        return {"schema": schemas.index(part["schema"]), "payload": part["payload"]}

    records = {
        topic: [{**record, "key": packed(record["key"]), "value": packed(record["value"])} for record in sent]
        for topic, sent in sorted(shortened(found).items())
    }
    lines = [f" {json.dumps(schema)}" for schema in schemas]
    topics = [
        f"{json.dumps(topic)}: [\n" + ",\n".join(f" {json.dumps(record)}" for record in sent) + "\n]"
        for topic, sent in records.items()
    ]
    text = '{"schemas": [\n' + ",\n".join(lines) + '\n],\n"records": {\n' + ",\n".join(topics) + "\n}}\n"
    file.write_text(text.replace(name, NAME), encoding="utf-8")


def read(file: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the records from a file."""
    stored = json.loads(file.read_text(encoding="utf-8"))
    schemas = stored["schemas"]

    def whole(part: Any) -> Any:
        return None if part is None else {"schema": schemas[part["schema"]], "payload": part["payload"]}

    return {
        topic: [{**record, "key": whole(record["key"]), "value": whole(record["value"])} for record in sent]
        for topic, sent in stored["records"].items()
    }


def shortened(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> Found:
    """Return the records with digests in place of long values."""
    return {topic: [{**record, "value": _short(record["value"])} for record in sent] for topic, sent in found.items()}


def _short(value: Any) -> Any:
    if value is None:
        return None
    sides = ("before", "after")
    payload = {
        name: {column: _digested(one) for column, one in part.items()} if name in sides and part else part
        for name, part in value["payload"].items()
    }
    return {**value, "payload": payload}


def _digested(value: Any) -> Any:
    text = json.dumps(value)
    if len(text) <= _LONG:
        return value
    return f"{text[:40]} and so on: {len(text)} characters, {hashlib.sha256(text.encode()).hexdigest()[:16]}"
