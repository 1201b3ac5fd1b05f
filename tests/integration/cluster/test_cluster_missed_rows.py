"""Lets Kafka delete rows while a sink is paused: the worker says so wherever somebody looks, and to a receiver."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cluster_worker import eventually
from confluent_kafka import Producer

from connect.api.records import TopicPartition
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline

STRING = "org.apache.kafka.connect.storage.StringConverter"


@pytest.fixture
def told() -> Iterator[tuple[str, list[dict[str, object]]]]:
    """The address of a receiver of alerts, and what it got."""
    taken: list[dict[str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/alerts", taken
    server.shutdown()
    server.server_close()


def test_rows_deleted_while_a_sink_is_paused_are_told_everywhere(start_worker, kafka, unique, tmp_path, told):
    address, alerts = told
    brokers = {"bootstrap.servers": kafka.bootstrap_servers}
    admin, tp, out = TopicAdmin(brokers), TopicPartition(unique, 0), Path(tmp_path / "out.txt")
    admin.create(unique, partitions=1, deadline=Deadline.after(60))

    def produce(first: int, last: int) -> None:
        producer = Producer(brokers)
        for number in range(first, last):
            producer.produce(unique, str(number))
        assert producer.flush(60) == 0

    def lines() -> list[int]:
        return [int(line) for line in out.read_text().split()] if out.exists() else []

    worker = start_worker(**{"alerts.webhook.url": address}).ready()
    produce(0, 10)
    sink = {"connector.class": "FileStreamSink", "topic": "", "topics": unique, "file": str(out), "tasks.max": "1"}
    worker.create("c", **sink, **{"key.converter": STRING, "value.converter": STRING})
    eventually(lambda: lines() == [*range(10)])
    assert worker.call("PUT", "/connectors/c/pause").status_code == 202
    eventually(lambda: worker.states("c") == ("PAUSED", ["PAUSED"]))
    produce(10, 30)
    admin.delete_records({tp: 17}, Deadline.after(60))
    assert worker.call("PUT", "/connectors/c/resume").status_code == 202
    eventually(lambda: lines() == [*range(10), *range(17, 30)])

    said = f"7 rows of {unique}-0 (offsets 10 to 16) were deleted before they were read"
    figures = 'kafka_connect_task_missed_rows_total{connector="c",task="0"} 7'
    eventually(lambda: figures in worker.call("GET", "/metrics").text)
    eventually(lambda: any(said in note for note in worker.get("/connectors/c/status").get("notes", ())))
    why = [part["text"] for part in worker.get("/connectors/c/why")]
    assert any(said in text for text in why), why
    assert any("7 rows MISSED" in text for text in why), why
    assert said in worker.call("GET", "/ui/connector?name=c").text.replace("&#39;", "'")
    found = [one for one in worker.get("/doctor")["findings"] if one["name"] == "rows-missed"]
    assert [(one["severity"], said in one["evidence"]) for one in found] == [("error", True)]
    eventually(
        lambda: [(one["event"], one["state"], one["connector"]) for one in alerts] == [("missed_rows", "firing", "c")]
    )
    assert "7 rows were not read" in str(alerts[0]["reason"])

    # A restart forgets nothing that the group has committed, and is no news to the receiver.
    assert worker.call("POST", "/connectors/c/restart?includeTasks=true").status_code == 202
    eventually(
        lambda: 'kafka_connect_task_missed_rows_total{connector="c",task="0"} 0' in worker.call("GET", "/metrics").text
    )
    eventually(lambda: any(said in note for note in worker.get("/connectors/c/status").get("notes", ())))
    assert [one["name"] for one in worker.get("/doctor")["findings"] if one["name"] == "rows-missed"] == ["rows-missed"]
    second = start_worker(**{"alerts.webhook.url": address}).ready()
    worker.stop()
    eventually(lambda: second.states("c") == ("RUNNING", ["RUNNING"]))
    eventually(lambda: any(said in note for note in second.get("/connectors/c/status").get("notes", ())))
    assert [one["state"] for one in alerts] == ["firing"]
