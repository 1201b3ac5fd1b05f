"""Topics of state of other clusters, drawn as time leaves them, take no row: from no connector and from no job.

The model is what was drawn: a compacted topic is state if state was written there, and a user's if rows were.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Mapping, Sequence

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from histories import History, run_histories
from planted_records import Record

from connect.api.errors import ConnectError
from connect.backfill.job.job_store import JobStore, StateTopics
from connect.runtime.settings.topic_inspector import reserved_topics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.services import KafkaEndpoint

JSON = "org.apache.kafka.connect.json.JsonConverter"
STATE: Mapping[str, Callable[[int], tuple[str, object]]] = {
    "configurations": lambda n: (f"connector-c{n}", {"properties": {"name": f"c{n}"}}),
    "wanted states": lambda n: (f"target-state-c{n}", {"state": "PAUSED"}),
    "offsets": lambda n: (f'["c{n}",{{"filename":"a"}}]', {"position": n}),
    "statuses": lambda n: (f"status-task-c{n}-0", {"state": "RUNNING"}),
    "jobs": lambda n: (
        f'{{"job":"j{n}"}}', {"spec": {"apiVersion": "backfill/v1", "name": f"j{n}"}, "state": "RUNNING"},
    ),
    "wishes": lambda n: (f'{{"job":"j{n}","wish":true}}', {"wish": "pause"}),
    "markers": lambda n: (f'{{"chunk":"{n}","part":0}}', {"checksum": "0", "rows": 1}),
    "memory": lambda n: (f"ids raw.ks.t 0 {n}", {"seen": []}),
    "memory of rows": lambda n: (f'["rows","ks.t",{n}]', {"cells": {}}),
}  # fmt: skip
ROWS: Mapping[str, Callable[[int], tuple[str, object]]] = {
    "numbers": lambda n: (str(n), {"n": n}), "objects": lambda n: (f'{{"id":{n}}}', {"job": n, "state": "RUNNING"}),
    "arrays": lambda n: (f'["c{n}",{n}]', {"position": n}), "names": lambda n: (f"connection-{n}", {"state": "OPEN"}),
}  # fmt: skip


def drawn(kind: Callable[[int], tuple[str, object]], draw: random.Random) -> list[Record]:
    """Return records of a topic from which much was deleted, and something after it was not."""
    deleted, kept = draw.choice([0, 1, 19, 20, 21, 60, 2500]), draw.randrange(1, 4)
    told = [kind(n) for n in range(deleted + kept)]
    return [(key.encode(), None if n < deleted else json.dumps(value).encode()) for n, (key, value) in enumerate(told)]


@pytest.mark.histories
def test_drawn_topics_of_state_take_no_row(kafka: KafkaEndpoint) -> None:
    run_histories("state-topic", lambda history: one_history(history, kafka.bootstrap_servers), short=1)


def one_history(history: History, bootstrap_servers: str) -> None:
    """Draw a topic of each kind, and ask each door whether rows may go there."""
    admin, name = AdminClient({"bootstrap.servers": bootstrap_servers}), f"drawn-{uuid.uuid4().hex[:8]}"
    worker = WorkerConfig.parse({
        "bootstrap.servers": bootstrap_servers, "group.id": name, "key.converter": JSON, "value.converter": JSON,
        **{f"{one}.storage.topic": f"{name}-{one}" for one in ("config", "offset", "status")},
    })  # fmt: skip
    for kind, record in {**STATE, **ROWS}.items():
        topic = f"{name}-{kind.replace(' ', '-')}"
        admin.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"})])[topic].result(60)
        records = drawn(record, history.draw)
        history.note("topic", kind=kind, records=len(records))
        if history.draw.random() < 0.5:
            write(bootstrap_servers, topic, [(b"gone", b"{}")] * history.draw.choice([1, 19, 20, 40]), aborted=True)
        write(bootstrap_servers, topic, records, aborted=False)
        for door, ask in doors(worker, topic).items():
            refusal = None
            try:
                ask()
            except ConnectError as error:
                refusal = str(error)
            if kind in STATE:
                assert refusal is not None, f"{door} writes into {kind}: {len(records)} records, {records[-1]}"
                assert f"Topic {topic} holds" in refusal
            else:
                assert refusal is None, f"{door}: {kind} are a user's rows, {refusal}"


def write(bootstrap_servers: str, topic: str, records: Sequence[Record], *, aborted: bool) -> None:
    """Write records in one transaction. An aborted one leaves a gap of offsets, as compaction does in time."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(60)
    producer.begin_transaction()
    for key, value in records:
        producer.produce(topic, value, key, partition=0)
    assert producer.flush(60) == 0
    (producer.abort_transaction if aborted else producer.commit_transaction)(60)


def doors(worker: WorkerConfig, topic: str) -> Mapping[str, Callable[[], None]]:
    """Return what asks before it writes to a topic that a configuration or a transform names."""
    return {
        "a source or a route": lambda: reserved_topics(worker, {"name": "c"}).check(topic, 1),
        "a queue of dead letters": lambda: reserved_topics(worker, {"name": "c"}).require_free(topic, "k"),
        "a source by brokers of its own": lambda: reserved_topics(
            worker, {"name": "c", "producer.override.bootstrap.servers": worker.originals["bootstrap.servers"]}
        ).check(topic, 1),
    } | (
        {} if topic.endswith(("-jobs", "-wishes", "-markers")) else
        {"a backfill": JobStore(worker, StateTopics(topic, f"connect-backfill-{topic}", 1)).require_own_topics}
    )  # fmt: skip
