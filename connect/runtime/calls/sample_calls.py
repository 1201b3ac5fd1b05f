"""Shows live rows of a connector before and after each of its transforms. Nothing is written, no offset moves.

A sink's rows are the newest records of its topics. A source's rows are the first ones that its tasks give without a
stored offset. A source's converters are not used, as they would register schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.api.optional.trial import kept_by
from connect.api.plugin import PluginKind
from connect.api.records import Batch
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.calls.newest_records import FURTHEST_OFFSETS, newest_records
from connect.runtime.calls.sampled_row import NamedLink, Steps, refused_step, steps_of
from connect.runtime.calls.trial_reading import read_batches
from connect.runtime.parts.clients import Clients
from connect.runtime.parts.connector_settings import ConnectorParts
from connect.runtime.parts.task_parts import connector_plugin
from connect.runtime.records.pipeline import SinkPipeline
from connect.runtime.records.tolerance import BadRow
from connect.runtime.settings.connector_config import CommonConnectorConfig, SinkConnectorConfig
from connect.runtime.task.messages import Call
from connect.telemetry.secret_texts import SECRET_TEXTS

READ_SHARE: Final = 0.6
"""A source is read for this share of a call's time; the rest is for opening it and for the transforms."""
_REFUSALS: Final = 5


def answer_sample_call(clients: Clients, call: Call, resolved: Mapping[str, str]) -> dict[str, Any]:
    """Return `rows`, each with its `place` and `steps`, and `notes` on what could not be read.

    Raise ConnectError if a topic is missing, or if the source may not be run, as it would change something outside.
    """
    parts = ConnectorParts(clients, resolved)
    deadline = Deadline.after(call.timeout_s)
    if connector_plugin(clients.catalog, resolved).kind is PluginKind.SINK:
        return _of_sink(parts, call.count, deadline)
    return _of_source(parts, call.count, Deadline.after(call.timeout_s * READ_SHARE))


def _of_sink(parts: ConnectorParts, rows: int, deadline: Deadline) -> dict[str, Any]:
    config = SinkConnectorConfig.parse(parts.resolved)
    links = _links(parts, config)
    found: list[dict[str, Any]] = []
    newest = newest_records(parts.clients, parts.resolved, rows, deadline)
    for raw in sorted(newest, key=_place):
        for number in range(len(raw)):
            found += _record(parts, raw.slice(number, number + 1), links)
    none = f"Its topics have no record among the newest {FURTHEST_OFFSETS:,} offsets of each partition."
    return {"rows": found[:rows], "notes": [] if found else [none]}


def _place(raw: RawBatch) -> tuple[str, int, int]:
    assert raw.offsets is not None
    return raw.topic, raw.partition or 0, raw.offsets[0].as_py()


def _record(parts: ConnectorParts, raw: RawBatch, links: Sequence[NamedLink]) -> list[dict[str, Any]]:
    assert raw.offsets is not None
    place = f"{raw.topic}-{raw.partition}@{raw.offsets[0].as_py()}"
    bad: list[BadRow] = []
    batches = [batch for batch in SinkPipeline([], parts.converters, bad.extend).decode(raw) if len(batch)]
    if bad:
        return [{"place": place, "steps": [refused_step("read", bad[0].component, bad[0].error)]}]
    return [{"place": place, "steps": steps_of(batch, links)} for batch in batches]


def _of_source(parts: ConnectorParts, rows: int, deadline: Deadline) -> dict[str, Any]:
    connector = parts.build_connector()
    if (kept := kept_by(connector)) is not None:
        raise ConnectError(
            f"This source keeps {kept} in what it reads, and a sample would move that on.",
            fix="Look at a sample of a sink that reads its topics, or at the topics.",
        )
    links = _links(parts, parts.source_config)
    notes: list[str] = []

    def refuse(error: Exception) -> None:
        if len(notes) < _REFUSALS:
            notes.append(SECRET_TEXTS.shown(f"{type(error).__name__}: {error}"))

    found = [
        {"place": f"row {number}", "steps": steps}
        for number, steps in enumerate(_read(parts, links, rows, deadline, refuse), 1)
    ]
    if not found and not notes:
        notes.append("The source gave no row in time: it may have none.")
    return {"rows": found, "notes": notes}


def _read(
    parts: ConnectorParts, links: Sequence[NamedLink], rows: int, deadline: Deadline, refuse: Any
) -> Iterator[Steps]:
    left = rows
    for batch in read_batches(parts, rows, deadline, on_refused=refuse):
        for number in range(min(left, len(batch))):
            yield steps_of(_row(batch, number), links)
        left -= len(batch)


def _row(batch: Batch, number: int) -> Batch:
    return batch.slice(number, number + 1)


def _links(parts: ConnectorParts, config: CommonConnectorConfig) -> list[NamedLink]:
    return [NamedLink(*pair) for pair in zip(config.transforms, parts.chain(config), strict=True)]
