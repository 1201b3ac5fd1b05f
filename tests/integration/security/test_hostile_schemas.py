"""Sends records with schemas that lie through a running sink: each is a row or a dead letter, and nobody else
suffers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from beside import Beside
from confluent_kafka import Producer
from e2e_worker import JSON, wait_for
from histories import History, run_histories
from victims import values

LOGICAL = "org.apache.kafka.connect.data."
ROWS, ARRIVE_S = 12, 120.0
FORMATS = {"json": "json.JsonFormat", "parquet": "parquet.ParquetFormat"}


def named(name: str, kind: str, **parameters: Any) -> dict[str, Any]:
    return {"type": kind, "name": LOGICAL + name, "version": 1, "parameters": parameters}


def decimal(scale: Any) -> dict[str, Any]:
    return named("Decimal", "bytes", scale=scale)


SCALES = ["-2147483648", "-1000000000", "-1000", "-77", "-39", "-5", "77", "2147483647", "9" * 5000, " 1_0 ", "x", ""]
HOSTILE: list[tuple[Any, str]] = [
    *((decimal(scale), payload) for scale in SCALES for payload in ('"AQ=="', "1.5", "1e999999999", "1e-999999999")),
    (decimal([1]), '"AQ=="'), ({**decimal("2"), "parameters": [1]}, "1"), ({**decimal("2"), "version": 2**70}, "1"),
    (named("Date", "int32"), "2147483647"), (named("Date", "string"), '"x"'), (named("Time", "int32"), "2147483647"),
    (named("Timestamp", "int64"), "-9223372036854775808"), ({"type": "int64"}, "9" * 5000),
    ({"type": "int64"}, "1e999"),
    ({"type": "map", "keys": {"type": "double"}, "values": {"type": "string"}}, '[[NaN,"a"],[NaN,"b"]]'),
    ({"type": "int32", "default": {"a": [1]}}, "null"), ({"type": "bytes", "default": "!!"}, "null"), (5, "5"),
    ({"type": "struct", "fields": {}}, "{}"), ({"type": "struct", "fields": [{"field": "a\0"}]}, "{}"),
    ({"type": "struct", "fields": [{"field": f"f{i}", "type": "int32", "optional": True} for i in range(2000)]}, "{}"),
]  # fmt: skip
"""Types of a field, and what a record says of it."""


def row(number: int, lie: tuple[Any, str] | None = None) -> bytes:
    fields: list[Any] = [{"field": "n", "type": "int32"}]
    said = f'{{"n":{number}'
    if lie is not None:
        fields.append({"field": "x", **lie[0]} if isinstance(lie[0], dict) else lie[0])
        said += f',"x":{lie[1]}'
    return f'{{"schema":{json.dumps({"type": "struct", "name": "r", "fields": fields})},"payload":{said}}}}}'.encode()


def written(folder: Path, topic: str) -> list[int]:
    files = sorted((folder / "topics" / topic).rglob("*.*"))
    lines = [line for file in files if file.suffix == ".json" for line in file.read_text().splitlines()]
    columns = [pq.ParquetFile(file).read(["n"]) for file in files if file.suffix == ".parquet"]
    return [*(json.loads(line)["n"] for line in lines), *(n for column in columns for n in column["n"].to_pylist())]


def each_row_is_told(history: History, beside: Beside) -> None:
    """Feed good rows and hostile ones in turn; each ends in a file or as a dead letter, the good ones in files."""
    form, decimals = history.draw.choice(sorted(FORMATS)), history.draw.choice(["BASE64", "NUMERIC"])
    topic = f"{beside.name}-{form}-{history.seed}"
    lies = history.draw.sample(HOSTILE, ROWS)
    history.note("rows", form=form, decimals=decimals, lies=[(str(kind)[:80], said[:80]) for kind, said in lies])
    producer = Producer({"bootstrap.servers": beside.bootstrap_servers})
    for number, lie in enumerate(lies):
        producer.produce(topic, row(number))
        producer.produce(topic, row(ROWS + number, lie))
    producer.flush(60)
    folder = beside.folder / topic
    folder.mkdir()
    config = {"connector.class": "S3SinkConnector", "storage.class": "connect.s3.LocalStorage", "topics": topic,
              "s3.bucket.name": str(folder), "format.class": f"io.confluent.connect.s3.format.{FORMATS[form]}",
              "json.decimal.format": decimals, "value.converter": JSON,
              "flush.size": "1000", "rotate.schedule.interval.ms": "500", "timezone": "UTC",
              "consumer.override.auto.offset.reset": "earliest", "errors.tolerance": "all",
              "errors.deadletterqueue.topic.name": f"{topic}-dlq",
              "errors.deadletterqueue.topic.replication.factor": "1"}  # fmt: skip
    with beside.unharmed():
        made = beside.create(topic, config)
        assert made.status_code == 201, made.text
        try:
            wait_for(
                lambda: told(beside, folder, topic) >= 2 * ROWS, ARRIVE_S, lambda: str(beside.worker.status(topic))
            )
            assert told(beside, folder, topic) == 2 * ROWS
            assert sorted(n for n in written(folder, topic) if n < ROWS) == list(range(ROWS))
            assert [task["state"] for task in beside.worker.status(topic)["tasks"]] == ["RUNNING"]
        finally:
            beside.delete(topic)


def told(beside: Beside, folder: Path, topic: str) -> int:
    """Return how many rows are in files or dead letters."""
    states = [task["state"] for task in beside.worker.status(topic).get("tasks", ())]
    assert "FAILED" not in states, beside.worker.status(topic)
    return len(written(folder, topic)) + len(values(beside.bootstrap_servers, f"{topic}-dlq"))


@pytest.mark.histories
def test_a_schema_that_lies_is_one_bad_row(beside: Beside) -> None:
    run_histories("schemas", lambda history: each_row_is_told(history, beside), short=2)
