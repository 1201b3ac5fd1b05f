"""Calls the user's plug-in for an evaluation, in a process of its own: `python -m connect.poc.child`.

A plug-in that hangs, crashes or leaks harms this process only. `children.asked_of` writes the question to its standard
input as JSON, and reads the answer from its standard output as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.api.optional.bulk import BulkSource, SplitSize
from connect.api.optional.costs import CostQuestion, PricedSink
from connect.api.optional.origins import DescribesColumns
from connect.api.optional.trial import TrialSink, TrialTarget, kept_by
from connect.api.records import TopicPartition
from connect.kafka.consume.log_reader import OffsetRange, read_spans
from connect.lib.deadline import Deadline
from connect.poc.sandbox.copies import write_records
from connect.poc.sandbox.examination import examined
from connect.poc.sink.made_records import made_records
from connect.poc.sink.sink_sample import reading_settings, take_sink_sample
from connect.poc.sink.sink_schema_change import RECORDS, changed_records
from connect.poc.source.sample import take_sample
from connect.poc.source.source_schema_change import try_changes
from connect.runtime.parts.connector_settings import ConnectorParts, ConnectorSettings
from connect.runtime.topics.topic_rates import rates_now

HASH_BYTES: Final = 12
Asked = Mapping[str, Any]
Answer = dict[str, Any]


def examine(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Let the connector examine its user's data, and return its findings."""
    del asked
    return examined(parts, deadline)


def sample(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Compare a source's rows with the rows that are decoded from the bytes which Kafka would hold."""
    return asdict(take_sample(parts, asked["rows"], deadline, show_values=asked["show_values"]))


def change(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Try what happens to a source's rows when its tables change."""
    return {"seen": [asdict(seen) for seen in try_changes(parts, asked["registry_url"], deadline)]}


def kept(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Tell what a source keeps where it reads; None if it only reads. Nothing is read."""
    del asked, deadline
    return {"kept": kept_by(parts.build_connector())}


def plan(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Estimate how much a source has to read, by its own plan of a bulk read. No row is read."""
    connector = parts.build_connector()
    if not isinstance(connector, BulkSource):
        raise ConnectError("The connector cannot be read in bulk (connect.api.optional.bulk).")
    made = connector.plan_bulk(SplitSize(asked["chunk_rows"], asked["chunk_bytes"]), deadline)
    return {
        "chunks": len(made.splits),
        "rows": sum(split.rows for split in made.splits),
        "size_bytes": sum(split.size_bytes for split in made.splits),
        "warnings": list(made.warnings),
    }


def make(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Make a target beside the sink's real one. `settings` of the answer is None if the connector offers none."""
    target = _target(parts, asked)
    if target is None:
        return {"settings": None}
    target.make(deadline)
    return {"settings": dict(target.settings), "is_once": target.is_once, "merges": target.merges}


def rows(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Count how often each row is in the target, by the row's hash, and return the types of its columns."""
    target = _target(parts, asked)
    assert target is not None
    counts = Counter(hashlib.blake2b(row, digest_size=HASH_BYTES).hexdigest() for row in target.rows(deadline))
    columns = target.column_types(deadline) if isinstance(target, DescribesColumns) else {}
    return {"rows": counts, "columns": dict(columns)}


def remove(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Remove the target and everything in it."""
    target = _target(parts, asked)
    if target is not None:
        target.remove(deadline)
    return {}


def sample_records(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Convert records as the sink's tasks would."""
    spans = {TopicPartition(topic, number): OffsetRange(start, end) for topic, number, start, end in asked["spans"]}
    return asdict(take_sink_sample(parts, spans, deadline, show_values=asked["show_values"]))


def write_made(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Make records and write them to topics."""
    batches = [batch for topic in asked["topics"] for batch in made_records(parts, topic, asked["records"])]
    ends = write_records(parts.clients.worker_properties, batches, dict.fromkeys(asked["topics"], 1), deadline)
    return {"ends": [(place.topic, place.partition, end) for place, end in ends.items()]}


def write_changed(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Write the last records of a partition again, with one more field."""
    topic, number, end, partitions = asked["topic"], asked["partition"], asked["end"], asked["partitions"]
    place, span = TopicPartition(topic, number), OffsetRange(max(0, end - RECORDS), end)
    last = list(read_spans(reading_settings(parts), {place: span}, deadline))
    changed = changed_records(parts, [raw for raw in last if not raw.values.null_count])
    ends = write_records(parts.clients.worker_properties, changed, {topic: partitions}, deadline)
    return {"end": ends[place]}


def costs(parts: ConnectorParts, asked: Asked, deadline: Deadline) -> Answer:
    """Return what writing costs a day; `tables` is None if the connector does not tell.

    `sampled` holds the settings of the user's Kafka, in which its topics are sampled; with None they are not.
    """
    connector = parts.build_connector()
    if not isinstance(connector, PricedSink):
        return {"tables": None}
    topics = [topic.strip() for topic in parts.resolved.get("topics", "").split(",") if topic.strip()]
    rates = {} if asked["sampled"] is None else rates_now(asked["sampled"], topics, deadline)
    return {"tables": [asdict(table) for table in connector.costs(CostQuestion(rates=rates), deadline)]}


ACTIONS: Final[Mapping[str, Callable[[ConnectorParts, Asked, Deadline], Answer]]] = {
    action.__name__: action
    for action in (
        examine,
        sample,
        change,
        kept,
        plan,
        make,
        rows,
        remove,
        sample_records,
        write_made,
        write_changed,
        costs,
    )
}


def _target(parts: ConnectorParts, asked: Asked) -> TrialTarget | None:
    connector = parts.build_connector()
    return connector.trial_target(asked["target"]) if isinstance(connector, TrialSink) else None


def main() -> None:
    """Answer the one question on standard input; `error` in the answer says what went wrong."""
    asked = json.load(sys.stdin)
    try:
        parts = ConnectorSettings(asked["worker"], asked["connector"]).open()
        answer = ACTIONS[asked["do"]](parts, asked, Deadline.after(asked["timeout_s"]))
    except ConnectError as error:
        answer = {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever a plug-in raises is what the evaluation shows
        answer = {"error": f"{type(error).__name__}: {error}"}
    json.dump(answer, sys.stdout)
    sys.stdout.flush()
    # The interpreter's own shutdown would now and then abort the process: clients of stores and of Kafka have threads
    # that may just then call Python code.
    os._exit(0)


if __name__ == "__main__":
    main()
