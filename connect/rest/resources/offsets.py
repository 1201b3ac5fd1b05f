"""Serves `/connectors/{name}/offsets`: shows how far a connector is, and sets it to another place while it is
STOPPED.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from connect.api.plugin import PluginKind
from connect.cluster.model.connector_values import PartitionOffset
from connect.cluster.model.request_errors import RequestError
from connect.plugins.catalog import Catalog
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError
from connect.rest.resources.shapes import Message, Offsets
from connect.rest.server.answers import json_answer
from connect.rest.server.context import context_of
from connect.rest.server.json_body import GivenOffset, read_offsets
from connect.rest.server.routing import Route, name_of
from connect.rest.server.state_changes import tell_offsets
from connect.rest.server.waiting import finished

_WHOLE: Final = "The offsets for this connector have been {} successfully"
_OWN: Final = (
    "The Connect framework-managed offsets for this connector have been {0} successfully. However, if this connector "
    "manages offsets externally, they will need to be manually {0} in the system that the connector uses."
)
_TOPIC, _PARTITION, _OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"
_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1


async def get_offsets(request: web.Request) -> web.Response:
    """Return the offsets of a connector; of a sink those of its consumer group."""
    name = name_of(request)
    reading = context_of(request).operations.offsets.read(name)
    found = await finished(request, reading, f"reading the offsets of connector {name}")
    return json_answer({"offsets": [{"partition": o.partition, "offset": o.offset} for o in found]})


async def alter_offsets(request: web.Request) -> web.Response:
    """Set the offsets of some partitions of a stopped connector; null forgets one."""
    name = name_of(request)
    given = await read_offsets(request)
    operations = context_of(request).operations
    operations.worker.require_leader()
    offsets = sink_offsets(given) if operations.connectors.info(name).type == "sink" else source_offsets(given)
    await tell_offsets(request, name, offsets)
    altering = operations.offsets.alter(name, offsets)
    done = await finished(request, altering, f"altering the offsets of connector {name}")
    return _message(done.is_whole, "altered", done.notes)


async def reset_offsets(request: web.Request) -> web.Response:
    """Forget all offsets of a stopped connector."""
    name = name_of(request)
    await tell_offsets(request, name, None)
    resetting = context_of(request).operations.offsets.reset(name)
    whole = await finished(request, resetting, f"resetting the offsets of connector {name}")
    return _message(whole, "reset")


def initial_offsets(given: Sequence[GivenOffset], catalog: Catalog, config: Mapping[str, str]) -> list[PartitionOffset]:
    """Return the offsets for a connector that is about to be created. HttpError 400 says what is wrong with them."""
    plugin = catalog.connector(config["connector.class"].strip())
    if plugin.kind is PluginKind.SINK:
        return sink_offsets(given)
    try:
        return source_offsets(given)
    except RequestError as error:
        raise HttpError(400, error.message) from error


def source_offsets(given: Sequence[GivenOffset]) -> list[PartitionOffset]:
    """Return a source's offsets, which may be any maps: only the connector can say what they must hold.

    HttpError 500: a partition is missing. HttpError 400: a value cannot be stored in an offset.
    """
    offsets = []
    for number, entry in enumerate(given):
        if entry.partition is None:
            raise HttpError(500, "Partition objects cannot be null")
        _require_primitives(entry.partition, f"offsets[{number}].partition")
        _require_primitives(entry.offset, f"offsets[{number}].offset")
        offsets.append(PartitionOffset(entry.partition, entry.offset))
    return offsets


def _require_primitives(members: Mapping[str, object] | None, place: str) -> None:
    """Raise HttpError 400 if a value cannot be stored in a partition or an offset; the text names its place."""
    for key, value in (members or {}).items():
        if isinstance(value, Mapping | list):
            kind = "array" if isinstance(value, list) else "object"
            raise HttpError(
                400, f"{place}.{key} has an {kind}: partitions and offsets hold texts, numbers, true, false and null."
            )
        if isinstance(value, int) and not -_LONG_MAX - 1 <= value <= _LONG_MAX:
            bounds = f"{-_LONG_MAX - 1} - {_LONG_MAX}"
            raise HttpError(400, f"{place}.{key}: Numeric value ({str(value)[:40]}) out of range of long ({bounds})")


def sink_offsets(given: Sequence[GivenOffset]) -> list[PartitionOffset]:
    """Return a sink's offsets: topic, partition and offset of each. Numbers may be given as texts.

    HttpError 400 says what is missing.
    """
    return [PartitionOffset(_sink_partition(entry.partition), _sink_offset(entry.offset)) for entry in given]


def _sink_partition(partition: dict[str, Any] | None) -> dict[str, object]:
    if partition is None:
        raise HttpError(400, "The partition for a sink connector offset cannot be null or missing")
    if not {_TOPIC, _PARTITION} <= set(partition):
        text = f"The partition for a sink connector offset must contain the keys '{_TOPIC}' and '{_PARTITION}'"
        raise HttpError(400, text)
    topic = partition[_TOPIC]
    if topic is None:
        raise HttpError(400, "Kafka topic names must be valid strings and may not be null")
    if topic == "":
        raise HttpError(400, "Kafka topic names must be valid strings and may not be empty")
    if partition[_PARTITION] is None:
        raise HttpError(400, "Kafka partitions must be valid numbers and may not be null")
    number = _whole(partition[_PARTITION], _INT_MAX)
    if number is None:
        raise HttpError(
            400,
            "Failed to parse the following Kafka partition value in the provided offsets: "
            f"'{_shown(partition[_PARTITION])}'. Partition values for sink connectors need to be integers.",
        )
    if number < 0:
        raise HttpError(400, f"Kafka partitions must be valid numbers and may not be negative: found {number}")
    return {_TOPIC: str(topic), _PARTITION: number}


def _sink_offset(offset: dict[str, Any] | None) -> dict[str, object] | None:
    if offset is None:
        return None
    if _OFFSET not in offset:
        text = f"The offset for a sink connector should either be null or contain the key '{_OFFSET}'"
        raise HttpError(400, text)
    number = _whole(offset[_OFFSET], _LONG_MAX)
    if number is None:
        raise HttpError(
            400,
            "Failed to parse the following Kafka offset value in the provided offsets: "
            f"'{_shown(offset[_OFFSET])}'. Offset values for sink connectors need to be integers.",
        )
    if number < 0:
        raise HttpError(400, f"Kafka offsets must be valid numbers and may not be negative: found {number}")
    return {_OFFSET: number}


def _whole(value: Any, most: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value)
    number = int(text) if re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII) else None
    return number if number is not None and -most - 1 <= number <= most else None


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)


def outcome(*, whole: bool, done: str) -> str:
    """Return Kafka Connect's message for altered or reset offsets. Unless `whole`, it says that the connector may keep
    other offsets itself.
    """
    return (_WHOLE if whole else _OWN).format(done)


def _message(whole: bool, done: str, notes: Sequence[str] = ()) -> web.Response:
    """Answer with Kafka Connect's message, followed by the connector's notes on the offsets that were given."""
    said = outcome(whole=whole, done=done)
    return json_answer({"message": " ".join([f"{said.rstrip('.')}.", *notes]) if notes else said})


ROUTES = (
    Route("GET", "/connectors/{name}/offsets", get_offsets, answers={200: Offsets}),
    Route(
        "PATCH", "/connectors/{name}/offsets", alter_offsets, role=Role.OPERATOR, body=Offsets, answers={200: Message}
    ),
    Route("DELETE", "/connectors/{name}/offsets", reset_offsets, role=Role.OPERATOR, answers={200: Message}),
)
