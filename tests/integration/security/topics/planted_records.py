"""Makes records that no member of a cluster would write into its topics, and writes them there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from confluent_kafka import Producer
from hostile_texts import ANSI, HTML

HUGE = 10**30
LARGE = (1 << 63) - 1
HALF = '"\\ud83d"'
"""This is one half of a character, which JSON can write and UTF-8 cannot."""
Record = tuple[bytes, bytes | None]


def plant(bootstrap_servers: str, topic: str, records: Iterable[Record], partition: int | None = None) -> None:
    """Write records into a topic."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "message.max.bytes": 1_100_000})
    where = {} if partition is None else {"partition": partition}
    for key, value in records:
        producer.produce(topic, value, key, **where)
        producer.flush(60)
    assert producer.flush(60) == 0


def told(members: Mapping[str, object]) -> bytes:
    """Return members as JSON."""
    return json.dumps(members).encode()


RUBBISH: tuple[bytes | None, ...] = (
    None, b"", b"\xff\xfe\xfd", b"no json", b"null", b"5", b"[]", b"{}", b"NaN", b'"' + b"x" * 900_000 + b'"',
    b"[" * 10_000 + b"]" * 10_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000, b'{"properties":' + HALF.encode() + b"}",
    b"9" * 10_000,
)  # fmt: skip
"""These values are valid records of no kind."""


def _of(prefixes: Iterable[str], values: Iterable[bytes | None]) -> list[Record]:
    names = ("planted", ANSI, HTML, "../../etc/passwd", "", "-", "planted-" + "9" * 5000, "planted-\u00b2", "x\0y")
    keys = [f"{prefix}{name}".encode() for prefix in prefixes for name in names]
    return [(key, value) for key in keys for value in values]


def in_config_topic() -> list[Record]:
    """Return records that are no valid orders, or orders that cannot be carried out."""
    kinds = ("target-state-", "task-", "commit-", "tasks-fencing-", "restart-connector-", "logger-cluster-",
             "placement-", "worker-", "history-config-", "unknown-")  # fmt: skip
    values = [value for value in RUBBISH if value is not None]
    found = _of(kinds, values) + [(f"connector-{ANSI}".encode(), value) for value in values]
    found += [(b"session-key", value) for value in values]
    found += [
        (b"session-key", told({"key": ANSI, "algorithm": "none", "creation-timestamp": number}))
        for number in (-1, LARGE, HUGE)
    ]
    found += [(b"commit-somebody-else", told({"tasks": number})) for number in (-1, 10**9, LARGE, HUGE, True)]
    found += [(b"tasks-fencing-somebody", told({"task-count": number})) for number in (-1, 10**9, LARGE, HUGE)]
    found += [(b"placement-nobody", told({"slots": slots})) for slots in ([-1], [HUGE], [LARGE], [None] * 100_000)]
    found += [(b"worker-nobody", told({"url": ANSI, "slots": slots})) for slots in ([], [-1], [LARGE], [HUGE])]
    found += [(b"target-state-somebody", told({"state": state})) for state in (ANSI, "", "started", 5)]
    found += [(b"logger-cluster-" + ANSI.encode(), told({"level": level})) for level in ("EVIL", ANSI, "DEBUG")]
    found += [
        (key, told({"properties": {"a": HTML}, "who": ANSI, "changed_ms": ms}))
        for key, ms in ((b"history-config-nobody-1", HUGE), (b"history-config-nobody-2", -LARGE))
    ]
    return [*found, (b"\xff\xfe", b"{}"), (b"", b"{}"), (b"connector", b"{}"), (b"x" * 1_000_000, b"{}")]


def status(**members: object) -> bytes:
    """Return a status with these members."""
    whole = {"state": "RUNNING", "trace": None, "worker_id": "nobody:1", "generation": 1, "version": "1"}
    return told({**whole, **members})


def in_status_topic(connector: str) -> list[Record]:
    """Return records that are no statuses, and false statuses of a connector and of unknown ones."""
    kinds = ("status-connector-", "status-task-", "status-topic-", "history-state-", "history-rebalance-",
             "told-alert-", "unknown-")  # fmt: skip
    found = _of(kinds, RUBBISH)
    lies = [
        status(trace=ANSI + HTML, worker_id=ANSI + HTML, version=ANSI + HTML), status(generation=HUGE),
        status(generation=LARGE, number=LARGE, changed_ms=LARGE), status(number=HUGE, changed_ms=-LARGE),
        status(number=-1, changed_ms=LARGE), status(trace="x" * 900_000), status(state="EVIL"),
        status(condition={"reason": HTML, "since_ms": LARGE, "waiting_for": ANSI, "next_attempt_ms": LARGE}),
        status(condition={"reason": HTML, "since_ms": HUGE, "waiting_for": "person"}),
        b'{"state":"FAILED","trace":' + HALF.encode() + b',"worker_id":"w","generation":1}',
    ]  # fmt: skip
    whose = (f"status-connector-{connector}", f"status-task-{connector}-0", f"status-task-{connector}-7",
             f"history-state-{connector}-connector-0", f"history-state-{connector}-0-1", "status-connector-" + HTML,
             f"history-state-{connector}-{'9' * 18}-{'9' * 18}")  # fmt: skip
    found += [(key.encode(), lie) for key in whose for lie in lies]
    found += [
        (f"status-topic-{ANSI}:connector-{connector}".encode(), told({"topic": {"task": n, "discoverTimestamp": n}}))
        for n in (-1, LARGE, HUGE)
    ]
    found += [
        (f"history-rebalance-{slot}".encode(),
         told({"number": n, "generation": n, "leader": ANSI, "workers": [HTML, 5, None], "changed_ms": n}))
        for slot, n in ((0, LARGE), (1, -LARGE), (2, HUGE), (10**18, 3))
    ]  # fmt: skip
    return [*found, (b"\xff\xfe", b"{}"), (b"", b"{}")]


def in_offset_topic() -> list[Record]:
    """Return records that are no offsets of any connector."""
    names = ("somebody", "planted", ANSI)
    keys = [json.dumps([name, partition]).encode() for name in names for partition in ({}, None, 5, {"filename": None})]
    keys += [b"\xff\xfe", b"", b"null", b"5", b"[]", b"{}", b'["somebody"]', b"[[],[]]", b"[5,{}]", HALF.encode(),
             b'["somebody",' + HALF.encode() + b"]", b"[" * 10_000, b'["somebody",{"a":' * 3_000]  # fmt: skip
    return [*((key, value) for key in keys for value in RUBBISH), (b"x" * 1_000_000, b"{}")]


def order(config: Mapping[str, str]) -> bytes:
    """Return a connector's configuration in the form of the config topic."""
    return told({"properties": dict(config)})
