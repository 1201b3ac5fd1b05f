"""Reads the answers of a cluster: their size is bounded, and they must be JSON of a shape that commands know. Pure.

Members that a shape does not name may be anything, as versions of Kafka Connect differ; commands pass them on unseen.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final, NotRequired

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from connect.api.errors import ConnectError

BYTES_MAX: Final = 128 << 20
"""An answer may have so many bytes. No cluster's answer is as long: ten thousand connectors take 100 MB."""
OBJECTS_BYTES_MAX: Final = 1 << 30
"""An answer may take so many bytes of memory when it is read."""
_BYTES_OF: Final = {b"{": 232, b"[": 88, b",": 8, b'"': 30}
"""Maps the signs of JSON to the most bytes that Python takes for what each begins; a quote is half of a text."""
_NUMBER_BYTES: Final = 32
_DEPTH_MAX: Final = 200
_TOKENS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)


class _Open(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # pydantic's own way to say it


class Part(_Open):
    """Holds the state of a connector or a task."""

    state: str
    worker_id: NotRequired[str]
    trace: NotRequired[str | None]
    reason: NotRequired[str | None]
    since: NotRequired[str | None]
    next_attempt: NotRequired[str | None]
    waiting_for: NotRequired[str | None]


class TaskPart(Part):
    """Holds the state of a task."""

    id: int


class Status(_Open):
    """Holds the states of a connector and its tasks."""

    name: str
    connector: Part
    tasks: list[TaskPart]
    notes: NotRequired[list[str]]


class Info(_Open):
    """Holds a connector's configuration."""

    config: dict[str, str | None]
    type: NotRequired[str | None]


class Connector(_Open):
    """Holds what is known of a connector; a part that is not known is left out."""

    info: NotRequired[Info]
    status: NotRequired[Status]


class Message(_Open):
    """Holds a sentence of the cluster."""

    message: str


class Reason(_Open):
    """Says something about a part of a connector."""

    about: str
    text: str


class Position(_Open):
    """Tells the offset of one partition of a source or a sink."""

    partition: dict[str, Any] | None
    offset: dict[str, Any] | None


class Offsets(_Open):
    """Holds all offsets of a connector."""

    offsets: list[Position]


class Topics(_Open):
    """Holds the topics that a connector used."""

    topics: list[str]


class PluginClass(_Open):
    """Describes a plug-in of the cluster."""

    type: str
    version: NotRequired[str | None]


class CheckedValue(_Open):
    """Holds the name of a key, and what is wrong with its value."""

    name: str
    errors: list[str]


class CheckedKey(_Open):
    """Holds a key with its value."""

    value: CheckedValue


class Checked(_Open):
    """Tells what is wrong with a configuration."""

    configs: list[CheckedKey]
    notes: NotRequired[list[str]]


class Finding(_Open):
    """Holds a finding of the doctor."""

    severity: str
    subject: str
    evidence: str
    why: str
    fix: str


class Findings(_Open):
    """Holds all findings of the doctor."""

    findings: list[Finding]


class FlowNode(_Open):
    """Describes a connector, a topic or a backfill."""

    id: str
    kind: str
    name: str
    state: str
    is_there: bool | None
    rows_per_s: float | None
    lag_rows: float | None
    lag_s: float | None


class FlowEdge(_Open):
    """Describes a way on which rows go from one node to another."""

    start: str
    end: str
    does: str
    declared: bool
    seen: bool
    rows_per_s: float | None
    lag_rows: float | None
    lag_s: float | None


class FlowBundle(_Open):
    """Describes all ways between a connector or backfill and its several topics together."""

    node: str
    does: str
    topics: int
    rows_per_s: float | None
    lag_rows: float | None
    lag_s: float | None


class Flow(_Open):
    """Holds a cluster's nodes, and the ways of rows between them."""

    nodes: list[FlowNode]
    edges: list[FlowEdge]
    bundles: NotRequired[list[FlowBundle]]
    not_told: list[str]
    silent: dict[str, str]


class SampledStep(_Open):
    """Shows the records that a transform makes of a row."""

    name: str
    plugin: str
    records: list[dict[str, Any]]
    more: int
    error: str | None


class SampledRow(_Open):
    """Shows a row as it was read, and after each transform."""

    place: str
    steps: list[SampledStep]


class Sample(_Open):
    """Holds live rows of a connector."""

    rows: list[SampledRow]
    notes: list[str]


class Versions(_Open):
    """Holds a connector's history."""

    configs: list[dict[str, Any]]


_SHAPES: Final[tuple[tuple[str, str, Any], ...]] = (
    ("GET", r"/", dict[str, Any]),
    ("GET", r"/connectors\?expand=info&expand=status", dict[str, Connector]),
    ("GET", r"/connectors", list[str]),
    ("GET", r"/connectors/[^/]+/status", Status),
    ("GET", r"/connectors/[^/]+/config", dict[str, str | None]),
    ("GET", r"/connectors/[^/]+/why", list[Reason]),
    ("GET", r"/connectors/[^/]+/topics", dict[str, Topics]),
    ("GET", r"/connectors/[^/]+/offsets", Offsets),
    ("(?:PATCH|DELETE)", r"/connectors/[^/]+/offsets", Message),
    ("GET", r"/connectors/[^/]+/sample.*", Sample),
    ("GET", r"/connectors/[^/]+/history", Versions),
    ("GET", r"/connector-plugins.*", list[PluginClass]),
    ("PUT", r"/connector-plugins/.*/validate.*", Checked),
    ("(?:GET|PUT)", r"/doctor", Findings),
    ("GET", r"/flow", Flow),
)


class WrongAnswerError(ConnectError):
    """Says what is wrong with an answer, without its values: what answers is no Connect worker."""


def read_answer(method: str, path: str, data: bytes) -> Any:
    """Return the value of an answer; None if it is empty and may be. WrongAnswerError: it has another shape."""
    shape = _shape(method, path)
    if not data:
        if shape is not None:
            raise WrongAnswerError(f"its answer to {method} {path[:200]} is empty")
        return None
    found = read_json(data)
    if shape is not None:
        try:
            shape.validate_python(found, strict=True)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
            place = ".".join(str(step)[:100] for step in first["loc"]) or "the whole"
            wrong = f"{place}: {first['msg']}"
            raise WrongAnswerError(f"its answer to {method} {path[:200]} has another shape: {wrong}") from None
    return found


def read_json(data: bytes) -> Any:
    """Return the value of a JSON text. WrongAnswerError: it is no JSON, or its value would fill the memory."""
    if needed_bytes(data) > OBJECTS_BYTES_MAX:
        raise WrongAnswerError(f"its answer of {len(data)} bytes would take more than {OBJECTS_BYTES_MAX >> 20} MiB")
    if _is_deeper(data, _DEPTH_MAX):
        raise WrongAnswerError(f"it sent JSON that is nested deeper than {_DEPTH_MAX} levels")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WrongAnswerError("it sent no JSON") from error


def needed_bytes(data: bytes) -> int:
    """Return how many bytes of memory a JSON text takes at most, with its value as objects of Python."""
    parts = sum(data.count(sign) * size for sign, size in _BYTES_OF.items())
    return parts + 4 * len(data) + _NUMBER_BYTES * (data.count(b",") + data.count(b":"))


def _is_deeper(data: bytes, most: int) -> bool:
    if data.count(b"{") + data.count(b"[") <= most:
        return False
    depth = 0
    for token in _TOKENS.finditer(data):
        sign = token[0][:1]
        if sign in b"[{":
            depth += 1
            if depth > most:
                return True
        elif sign in b"]}":
            depth -= 1
    return False


def _shape(method: str, path: str) -> TypeAdapter[Any] | None:
    asked = f"{method} {path}"
    found = (place for place, (verb, route, _) in enumerate(_SHAPES) if re.fullmatch(f"{verb} {route}", asked))
    place = next(found, None)
    return None if place is None else _adapter(place)


@cache
def _adapter(place: int) -> TypeAdapter[Any]:
    """Return the validator of a shape. It is made when needed, as making all of them would slow down each command."""
    return TypeAdapter(_SHAPES[place][2])
