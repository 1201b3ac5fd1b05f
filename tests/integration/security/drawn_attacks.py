"""Holds attacks by people who may send requests, or write records to topics. Each takes the victims and a random
source.
"""

from __future__ import annotations

import gzip
import json
import random
import socket
from collections.abc import Callable

import requests
from confluent_kafka import Producer
from e2e_worker import wait_for
from victims import TEXT, Victims, values

from connect.runtime.settings.internal_topics import JOBS_TOPIC

CODE = {"spark.pyspark.python": "/tmp/code"}
DEEP = "[" * 50_000
NAME = "attacker"
JSON_TYPE = {"Content-Type": "application/json"}
SPEC = {"apiVersion": "backfill/v1", "name": "planted", "kind": "source", "source": {"connector": "victim-jdbc"}}


def large_bodies(victims: Victims, draw: random.Random) -> None:
    bodies: list[bytes] = [
        DEEP.encode(), b"x" * 2_000_000, b'{"name":"a","config":{"x":' + b"9" * 900_000 + b"}}",
        b'{"name":"a","config":' + b'{"a":' * 100_000, gzip.compress(b" " * 50_000_000, 1),
    ]  # fmt: skip
    body = draw.choice(bodies)
    encoding = {"Content-Encoding": "gzip"} if body[:2] == b"\x1f\x8b" else {}
    sent = requests.post(f"{victims.worker.url}/connectors", data=body, headers=JSON_TYPE | encoding, timeout=60)
    assert sent.status_code in {400, 413, 415}, sent.text[:200]


def values_to_search(victims: Victims, draw: random.Random) -> None:
    part = draw.choice(["password=", "u:p@", "u%3Ap%40", "://", '{"token":"', "${file:", "%" * 9, "jdbc:", "a=b;"])
    config = {
        "connector.class": "FileStreamSource",
        "topic": "x",
        draw.choice(["topic", "x", "x.token"]): part * 20_000,
    }
    url = f"{victims.worker.url}/connector-plugins/FileStreamSource/config/validate"
    assert requests.put(url, json={"name": "v", **config}, timeout=60).status_code in {200, 400}


def slow_clients(victims: Victims, draw: random.Random) -> None:
    port = int(victims.worker.url.rpartition(":")[2])
    head = draw.choice([b"GET /connectors HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n"])
    held = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(draw.randrange(20, 300))]
    try:
        for client in held:
            client.settimeout(5)
            try:
                client.sendall(head)
            except OSError:
                continue  # the worker has closed it to make room
    finally:
        for client in held:
            client.close()


def orders_into_own_topics(victims: Victims, draw: random.Random) -> None:
    """Run a source whose rows would start a connector if they came into the config topic."""
    folder = victims.folder / "orders"
    folder.mkdir(exist_ok=True)
    order = json.dumps({"properties": {"name": "planted", "connector.class": "FileStreamSource", "topic": "planted"}})
    quoted = order.replace('"', '""')
    (folder / "orders.csv").write_text(f'k,v\nconnector-planted,"{quoted}"\n')
    own = draw.choice([victims.worker.properties[f"{one}.storage.topic"] for one in ("config", "offset", "status")])
    routed = {"topic": "harmless", "transforms": "k,e,v,r", "transforms.r.regex": ".*", "transforms.r.replacement": own,
              "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter"}  # fmt: skip
    config = {"connector.class": "DataFilesSourceConnector", "folder": str(folder), "format": "csv", "topic": own,
              "key.converter": TEXT, "value.converter": TEXT, "transforms": "k,e,v",
              "transforms.k.type": "org.apache.kafka.connect.transforms.ValueToKey", "transforms.k.fields": "k",
              "transforms.e.type": "org.apache.kafka.connect.transforms.ExtractField$Key", "transforms.e.field": "k",
              "transforms.v.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
              "transforms.v.field": "v", **draw.choice([{}, routed])}  # fmt: skip
    made = victims.worker.create(NAME, {**config, "auto.restart.enabled": "false"})
    assert made.status_code in {201, 400}, made.text
    if made.status_code == 201:
        try:
            wait_for(lambda: _has_failed(victims) or _has_arrived(victims, own), 120, "the end of the attacker's task")
        finally:
            victims.worker.call("DELETE", NAME)
    assert not _has_arrived(victims, own), f"a row of a source is an order in the cluster's own topic {own}"


def _has_failed(victims: Victims) -> bool:
    return any(task["state"] == "FAILED" for task in victims.worker.status(NAME).get("tasks", ()))


def _has_arrived(victims: Victims, topic: str) -> bool:
    return any(b'"planted"' in (value or b"") for value in values(victims.bootstrap_servers, topic))


def rows_that_make_no_path(victims: Victims, draw: random.Random) -> None:
    names = ["a\0b", "x" * 3000, "../" * 400, "\0", "é" * 200]
    rows = [*(json.dumps({"n": -1, "p": name}).encode() for name in names), DEEP.encode(), b"\xff", b"5", b"[]", b"{}"]
    for row in draw.sample(rows, len(rows)):
        victims.send(row)


def records_of_no_backfill(victims: Victims, draw: random.Random) -> None:
    """Write records that no backfill wrote, and a job with code, into the jobs topic; workers must still show the other
    jobs.
    """
    keys = [b"\xff", b"null", b"no json", DEEP.encode(), b'{"job":5}', b'{"job":"planted"}']
    job = {"spec": {**SPEC, "engine": {"type": "spark", "conf": CODE}}, "state": "RUNNING", "run": "r", "chunks": 1,
           "rows": 1, "size_bytes": 1, "following": [], "statements": [], "warnings": [], "created_ms": 1,
           "updated_ms": 1, "worker": "gone:1",
           "group": draw.choice(["", "other", victims.worker.properties["group.id"]])}  # fmt: skip
    values = [b"no json", b"\xff", DEEP.encode(), b"null", json.dumps(job).encode(), b"{}"]
    producer = Producer({"bootstrap.servers": victims.bootstrap_servers})
    for key in draw.sample(keys, len(keys)):
        producer.produce(JOBS_TOPIC, draw.choice(values), key)
    producer.flush(30)
    shown = requests.get(f"{victims.worker.url}/backfills", timeout=60)
    for key in keys[:-1]:
        producer.produce(JOBS_TOPIC, None, key)  # all tests of this Kafka share the topic
    producer.flush(30)
    assert shown.status_code == 200, f"GET /backfills: {shown.text[:200]}"


def backfills_without_bounds(victims: Victims, draw: random.Random) -> None:
    wild = {"chunking": {"lanes": 10**9}, "engine": {"type": "local", "processes": 10**6},
            "state": {"jobs_topic": "x"}, "limits": {"window": "x" * 100_000},
            "source": {"connector": "victim-jdbc", "config": "/etc/passwd"}}  # fmt: skip
    key = draw.choice(sorted(wild))
    sent = requests.post(f"{victims.worker.url}/backfills", json=SPEC | {key: wild[key]}, timeout=60)
    assert sent.status_code == 400, f"{key}: {sent.status_code} {sent.text[:200]}"


def many_offsets(victims: Victims, draw: random.Random) -> None:
    """Alter a great many offsets of a connector that belongs to the attacker."""
    config = {"connector.class": "FileStreamSource", "file": str(victims.folder / "none.txt"), "topic": "none"}
    made = requests.post(
        f"{victims.worker.url}/connectors",
        json={"name": NAME, "config": config, "initial_state": "STOPPED"},
        timeout=60,
    )
    assert made.status_code == 201, made.text
    try:
        offsets = [
            {"partition": {"filename": str(n)}, "offset": {"position": n}} for n in range(draw.choice([1, 3000]))
        ]
        url = f"{victims.worker.url}/connectors/{NAME}/offsets"
        assert requests.patch(url, json={"offsets": offsets}, timeout=120).status_code in {200, 400, 500}
    finally:
        victims.worker.call("DELETE", NAME)


def hostile_levels(victims: Victims, draw: random.Random) -> None:
    body = draw.choice(['{"level":"EVIL"}', "[]", DEEP, '{"level":["DEBUG"]}', '{"level":"' + "A" * 100_000 + '"}'])
    url = f"{victims.worker.url}/admin/loggers/{draw.choice(['root', 'x' * 5000, '%00'])}"
    assert requests.put(url, data=body, headers=JSON_TYPE, timeout=60).status_code >= 400


Attack = Callable[[Victims, random.Random], None]
ATTACKS_ON_A_PART: tuple[Attack, ...] = (
    large_bodies, values_to_search, slow_clients, rows_that_make_no_path, hostile_levels,
)  # fmt: skip
"""These attacks need no leader: one worker answers them whatever happens to the others."""
ATTACKS: tuple[Attack, ...] = (
    *ATTACKS_ON_A_PART, orders_into_own_topics, records_of_no_backfill, backfills_without_bounds, many_offsets,
)  # fmt: skip
