"""Uses `connect dlq` on real Kafka as a person does: shows, mends, replays once and throws away letters."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner
from confluent_kafka import Producer
from e2e_worker import wait_for
from test_e2e_bad_records import committed, produce
from test_e2e_letters import LETTERS, STRING, everything, source

from connect.cli import main

DLQ = [sys.executable, "-m", "connect.cli", "dlq"]
JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.fixture
def dlq(worker):
    file = worker.log_path.parent / "worker.properties"

    def run(command: str, topic: str, *arguments: str, code: int = 0) -> str:
        # In this process: two dozen new ones would each spend a second on their imports.
        done = CliRunner().invoke(main, ["dlq", command, topic, *arguments, "--worker", str(file)])
        assert done.exit_code == code, (done.output, done.exception)
        return done.stdout + (done.stderr if code else "")

    return run


def sink(path: Path, topic: str, letters: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "FileStreamSink", "file": str(path), "topics": topic, "value.converter": JSON,
        "value.converter.schemas.enable": "false", "key.converter": STRING,
        "errors.deadletterqueue.topic.name": letters, "errors.deadletterqueue.context.headers.enable": "true",
        **LETTERS, **more,
    }  # fmt: skip


def test_a_sinks_letters_are_seen_mended_replayed_once_and_purged(worker, kafka, dlq, tmp_path, unique):
    topic, letters, out = f"{unique}-in", f"{unique}-dlq", tmp_path / "out.txt"
    produce(kafka, topic, [b'"a"', b"b", b'"c"', b"d {", b"\xff"])
    assert worker.create(unique, sink(out, topic, letters)).status_code == 201
    wait_for(lambda: committed(kafka, unique, topic) == 5, 60, "the offset behind the last record")

    listed = dlq("list", letters)
    assert "VALUE_CONVERTER" in listed
    assert f"{topic}-0@1" in listed
    found = [json.loads(line) for line in dlq("list", letters, "--json", "--connector", unique).splitlines()]
    assert [(f["origin"], f["stage"], f["replayed"]) for f in found] == [
        (f"{topic}-0@{n}", "VALUE_CONVERTER", False) for n in (1, 3, 4)
    ]
    assert found[2]["value_base64"] == "/w=="
    assert found[0]["headers"] == {"trace": "t1"}
    assert "No letters" in dlq("list", letters, "--error", "OutOfMemory")
    assert "No letters" in dlq("list", letters, "--until", "1h")
    shown = dlq("show", letters, "0:1")
    assert f"from              {topic}-0@3" in shown
    assert "value             d {" in shown
    assert "Traceback" in shown
    assert "no letter 0:9" in dlq("show", letters, "0:9", code=1)

    # Nothing is mended yet: nothing is replayed.
    still = dlq("replay", letters, "--dry-run")
    assert "0 letters would be replayed" in still
    assert f"letter 0:0 from {topic}-0@1 stays: Still bad: VALUE_CONVERTER" in still
    assert "3 letters kept" in dlq("replay", letters, code=1)

    mended = sink(out, topic, letters, **{"value.converter": STRING})
    assert requests.put(f"{worker.url}/connectors/{unique}/config", json=mended, timeout=60).status_code == 200
    before = len(everything(kafka, topic))
    assert "2 letters would be replayed as 2 records" in dlq("replay", letters, "--dry-run")
    assert len(everything(kafka, topic)) == before
    for words in (("--dry-run",), ()):
        assert "There is no letter 0:9 " in dlq("replay", letters, "--letter", "0:9", *words, code=1)
    for own in (letters, f"{letters}.replayed"):
        refused = dlq("replay", letters, "--to", own, code=1)
        assert f"--to {own} is a topic of the letters themselves" in refused
    assert len(everything(kafka, letters)) == 3
    assert "1 letter replayed" in dlq("replay", letters, "--letter", "0:1", code=0)
    assert "1 letter replayed" in dlq("replay", letters, code=1)
    assert "0 letters replayed" in dlq("replay", letters, code=1)
    again = everything(kafka, topic)[5:]
    assert [(m.key(), m.value(), m.headers()) for m in again] == [
        (b'{"schema":null,"payload":3}', b"d {", [("trace", b"t3")]),
        (b'{"schema":null,"payload":1}', b"b", [("trace", b"t1")]),
    ]
    wait_for(lambda: "d {" in out.read_text().splitlines(), 60, "the replayed line")

    assert "2 letters would be deleted" in dlq("purge", letters, "--replayed", "--dry-run")
    assert "2 letters deleted" in dlq("purge", letters, "--replayed", "--yes")
    left = [json.loads(line) for line in dlq("list", letters, "--json").splitlines()]
    assert [f["value_base64"] for f in left] == ["/w=="]
    assert "Say what to delete" in dlq("purge", letters, "--yes", code=2)
    assert "1 letter deleted" in dlq("purge", letters, "--all", "--yes")
    assert "No letters" in dlq("list", letters)
    # The rows themselves are no letters: who mistypes the topic must not lose them.
    for words in (("--yes",), ("--dry-run",)):
        told = dlq("purge", topic, "--all", *words, code=2)
        assert f"7 records of {topic} would go without a context header" in told
    assert len(everything(kafka, topic)) == 7
    assert "7 letters deleted" in dlq("purge", topic, "--all", "--yes", "--without-context")
    worker.call("DELETE", unique)


def test_a_replay_that_is_killed_repeats_no_row(worker, kafka, dlq, tmp_path, unique):
    topic, letters, path = f"{unique}-out", f"{unique}-dlq", tmp_path / "lines.txt"
    lines = [f"x{n}" for n in range(1200)]
    path.write_text("".join(f"{line}\n" for line in lines) + "7\n")
    assert worker.create(unique, source(path, topic, letters)).status_code == 201
    wait_for(lambda: len(everything(kafka, topic)) == 1, 60, "the good row")
    assert len(everything(kafka, letters)) == len(lines)
    mended = source(path, topic, letters, transforms="")
    assert requests.put(f"{worker.url}/connectors/{unique}/config", json=mended, timeout=60).status_code == 200

    file = worker.log_path.parent / "worker.properties"
    argv = [*DLQ, "replay", letters, "--worker", str(file)]
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert any("replayed" in line for line in child.stderr)
    os.kill(child.pid, signal.SIGKILL)
    child.wait(30)
    child.stderr.close()
    partly = len(everything(kafka, topic)) - 1
    assert partly < len(lines)
    told = dlq("replay", letters)
    assert "replayed before" in told
    assert [m.value().decode() for m in everything(kafka, topic)] == ["7", *lines]
    assert "0 letters replayed" in dlq("replay", letters)
    worker.call("DELETE", unique)


def test_a_topic_that_is_not_there_is_named(dlq):
    for verb in (["list"], ["replay"], ["purge", "--all"]):
        assert "There is no topic nowhere" in dlq(*verb, "nowhere", code=1)


def test_letters_that_lead_nowhere_stay_and_keep_no_other_one_waiting(worker, kafka, dlq, unique):
    topic, letters = f"{unique}-in", f"{unique}-dlq"
    produce(kafka, topic, [b'"first"'])

    def letter(value: bytes, **context: str) -> None:
        headers = [(f"__connect.errors.{key.replace('_', '.')}", text.encode()) for key, text in context.items()]
        producer.produce(letters, value, headers=headers)

    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    produce(kafka, letters, [b"no headers"])
    letter(b'"gone"', topic=f"{unique}-elsewhere", partition="0", offset="1")
    letter(b'"far"', topic=topic, partition="99", offset="1")
    letter(b'"digits"', topic=topic, partition="9" * 5000)
    letter(b'"squared"', topic=topic, partition="\u00b2", offset="x")
    letter(b'"odd"', topic="no/topic: \ufffd", partition="-1", offset="-5")
    for number in range(1200):
        letter(b'"good %d"' % number, topic=topic, partition="0", offset=str(number))
    assert producer.flush(60) == 0

    for replayed, records in (("1202 letters would be replayed", 1), ("1202 letters replayed", 1203)):
        said = dlq("replay", letters, *(["--dry-run"] if records == 1 else []), code=0 if records == 1 else 1)
        assert replayed in said.replace(",", ""), said
        assert f"The topic '{unique}-elsewhere' is not there" in said
        assert f"Partition 99 of topic {topic} is not there: it has 1" in said
        assert "The letter does not say where it came from" in said
        assert "4 letters kept" in said
        assert len(everything(kafka, topic)) == records
    again = dlq("replay", letters, code=1)
    assert "0 letters replayed" in again
    assert len(everything(kafka, topic)) == 1203, "each once"
