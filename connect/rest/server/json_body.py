"""Reads request bodies: JSON is read strictly, and numbers are kept as their text.

Kafka Connect answers 500 with its parser's text to a body that it cannot use, and clients' tests expect that. The texts
here begin as those of its parser, Jackson. A number or boolean is accepted where a text is wanted, as Jackson does.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

from aiohttp import web

from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.request_errors import RequestError
from connect.rest.access.config_bounds import check_config
from connect.rest.errors.http_error import HttpError, status_of
from connect.rest.server.request_body import body_of
from connect.rest.server.waiting import large, unless_gone

T = TypeVar("T")

NESTING_MAX: Final = 100
"""Objects and lists may be nested this deep."""
LARGE_BYTES: Final = 8192
"""A body with more bytes is parsed on another thread, as it would delay others on the event loop."""
MEMBERS_MAX: Final = 30_000
"""A body may have this many commas between members, as each of them makes one more value."""
_INITIAL_STATES: Final = {
    "RUNNING": TargetState.STARTED, "PAUSED": TargetState.PAUSED, "STOPPED": TargetState.STOPPED,
}  # fmt: skip
_TOKEN: Final = re.compile(r"[A-Za-z_$][\w$]*")
_TEXT: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


class NumberText(str):
    """Holds a number of a body as its text, so that -0.0, 1e3 and numbers of 20 digits stay as written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class GivenOffset:
    """Holds an entry of `PATCH …/offsets`; None stands for null and for a member that is left out."""

    partition: dict[str, Any] | None
    offset: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """Holds the body of `POST /connectors`. `name` is None if it is left out."""

    name: str | None
    config: Mapping[str, str | None]
    initial_state: TargetState | None
    initial_offsets: Sequence[GivenOffset] | None


async def read_create(request: web.Request) -> CreateRequest:
    """Return what `{"name", "config", "initial_state"?, "initial_offsets"?}` says.

    HttpError 400: `initial_offsets` is an empty list.
    """
    return await _read(request, _create_of)


def _create_of(data: bytes) -> CreateRequest:
    body = json_of(data)
    if body is None:
        raise _null("createRequest")
    members = _object(body, "CreateConnectorRequest")
    for member in members:
        if member not in {"name", "config", "initial_state", "initial_offsets"}:
            raise _refusal(f'Unrecognized field "{member}" (class CreateConnectorRequest), not marked as ignorable')
    config = members.get("config")
    texts = None if config is None else _texts(config)
    state = _initial_state(members.get("initial_state"))
    offsets = members.get("initial_offsets")
    given = None if offsets is None else _offsets(offsets)
    if texts is None:
        raise _null("connectorConfig")
    check_config(texts)
    name = members.get("name")
    return CreateRequest(None if name is None else _text(name, "name"), texts, state, given)


async def read_config(request: web.Request) -> dict[str, str | None]:
    """Return the body, a flat map of keys to texts; a null stays None."""
    found = await read_texts(request)
    if found is None:
        raise _null("connectorConfig")
    return found


async def read_texts(request: web.Request) -> dict[str, str | None] | None:
    """Return the body, a flat map of keys to texts; None for no body or `null`."""
    return await _read(request, _texts_or_none)


def _texts_or_none(data: bytes) -> dict[str, str | None] | None:
    body = json_of(data)
    return None if body is None else texts_of(body)


def texts_of(body: Any) -> dict[str, str | None]:
    """Return a flat map of keys to texts. HttpError 400: it is too large; 500: the body is no such map."""
    texts = _texts(body)
    check_config(texts)
    return texts


async def read_offsets(request: web.Request) -> list[GivenOffset]:
    """Return the offsets of `{"offsets": [{"partition": {…}, "offset": {…} or null}]}`. HttpError 400 without any."""
    return await _read(request, lambda data: offsets_of(json_of(data)))


def offsets_of(body: Any) -> list[GivenOffset]:
    """Return the entries of `{"offsets": […]}`; HttpError 400 when there are none."""
    if body is None:
        raise _null("offsets")
    members = _object(body, "ConnectorOffsets")
    for member in members:
        if member != "offsets":
            raise _refusal(f'Unrecognized field "{member}" (class ConnectorOffsets), not marked as ignorable')
    return _offsets(members.get("offsets"))


async def read_json(request: web.Request) -> Any:
    """Return the body's value; None for no body or `null`. Numbers are NumberText. HttpError 500: it is no JSON."""
    return await _read(request, json_of)


async def _read(request: web.Request, parse: Callable[[bytes], T]) -> T:
    """Return what a body holds."""
    return await parsed(request, await body_of(request), parse)


async def parsed(request: web.Request, data: bytes, parse: Callable[[bytes], T]) -> T:
    """Parse a text of a request and return its value; a large one is parsed on another thread.

    HttpError 408: the client went away meanwhile.
    """
    if len(data) <= LARGE_BYTES:
        return parse(data)
    return await large(request, "reading a body", unless_gone(request, parse), data)


def json_of(data: bytes) -> Any:
    """Return the value of a text, read strictly; None for no text or `null`. Numbers are NumberText. HttpError 500: it
    is no JSON.
    """
    # A byte order mark or the zero bytes of UTF-16 and UTF-32 tell the encoding, as in Jackson.
    encoding = json.detect_encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        place = "start" if error.reason == "invalid start byte" else "middle"
        name = "UTF-8" if encoding.startswith("utf-8") else encoding.upper()
        byte = error.object[error.start : error.start + 1].hex()
        raise _refusal(f"Invalid {name} {place} byte 0x{byte} at offset {error.start}") from None
    if not text.strip():
        return None
    _check_members(text)
    try:
        value = json.loads(text, parse_int=NumberText, parse_float=NumberText, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise _refusal(_syntax_text(text, error)) from None
    except RecursionError:
        raise _too_deep() from None
    _check_nesting(value)
    _check_characters(text, value)
    return value


async def read_own_json(request: web.Request) -> Any:
    """Return the body's value, for a resource that Kafka Connect lacks. HttpError 400: it is no JSON."""
    return await _with_400(read_json(request))


async def read_own_config(request: web.Request) -> dict[str, str | None]:
    """Return a flat map of keys to texts, for a resource that Kafka Connect lacks. HttpError 400: it is no such map."""
    return await _with_400(read_config(request))


async def _with_400(reading: Awaitable[T]) -> T:
    try:
        return await reading
    except RequestError as error:
        raise HttpError(400 if status_of(error) == 500 else status_of(error), error.message) from None


def plain(value: Any) -> Any:
    """Return a value with its numbers as int and float, for free-form maps such as offsets.

    HttpError 400: a number is too large for a float.
    """
    match value:
        case NumberText():
            return _number(value)
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case _:
            return value


def _number(text: str) -> int | float:
    number = int(text) if re.fullmatch(r"-?\d{1,300}", text) else float(text)
    if math.isinf(number):
        raise HttpError(400, f"Numeric value ({text[:40]}) out of range")
    return number


def _offsets(offsets: Any) -> list[GivenOffset]:
    if not isinstance(offsets, list | None):
        raise _wrong_shape("java.util.ArrayList", offsets)
    if not offsets:
        raise HttpError(400, "Partitions / offsets need to be provided for an alter offsets request")
    return [_offset(entry) for entry in offsets]


def _offset(entry: Any) -> GivenOffset:
    members = _object(entry, "ConnectorOffset")
    for member in members:
        if member not in {"partition", "offset"}:
            raise _refusal(f'Unrecognized field "{member}" (class ConnectorOffset), not marked as ignorable')
    maps = {}
    for member in ("partition", "offset"):
        value = members.get(member)
        maps[member] = None if value is None else plain(_object(value, "java.util.LinkedHashMap"))
    return GivenOffset(maps["partition"], maps["offset"])


def _texts(value: Any) -> dict[str, str | None]:
    members = _object(value, "java.util.LinkedHashMap")
    return {key: None if item is None else _text(item, key) for key, item in members.items()}


def _text(value: Any, member: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value)
    kind = "Object" if isinstance(value, dict) else "Array"
    raise _refusal(f"Cannot deserialize value of type `java.lang.String` from {kind} value (key {member!r})")


def _object(value: Any, wanted: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong_shape(wanted, value)
    return value


def _initial_state(value: Any) -> TargetState | None:
    if value is None:
        return None
    state = _INITIAL_STATES.get(value.upper()) if isinstance(value, str) and not isinstance(value, NumberText) else None
    if state is None:
        raise _refusal(
            f"Cannot construct instance of `CreateConnectorRequest$InitialState`, problem: {value!s} is none of "
            "RUNNING, PAUSED, STOPPED"
        )
    return state


def _wrong_shape(wanted: str, value: Any) -> HttpError:
    if isinstance(value, str) and not isinstance(value, NumberText):
        return _refusal(f"Cannot construct instance of `{wanted}`: no way to make one from a String value")
    kinds = {NumberText: "Number", bool: "Boolean", list: "Array", dict: "Object"}
    return _refusal(f"Cannot deserialize value of type `{wanted}` from {kinds.get(type(value), 'Null')} value")


def _syntax_text(text: str, error: json.JSONDecodeError) -> str:
    place = f"at line {error.lineno}, column {error.colno}"
    rest = text[error.pos :]
    if not rest.strip() or error.msg.startswith("Unterminated string"):
        return f"Unexpected end-of-input {place}"
    token = _TOKEN.match(rest)
    if token and not _inside_object(text, error.pos):
        return f"Unrecognized token '{token.group()}' {place}: was expecting JSON"
    return f"Unexpected character ('{rest[0]}' (code {ord(rest[0])})) {place}: {error.msg}"


def _inside_object(text: str, position: int) -> bool:
    before = text[:position].rstrip()
    return before.endswith(("{", ","))


def _check_members(text: str) -> None:
    # Commas inside texts are removed only if there are many commas, as that takes time that grows with the body.
    if text.count(",") > MEMBERS_MAX and (count := _TEXT.sub("", text).count(",")) > MEMBERS_MAX:
        raise HttpError(400, f"The body has {count} values. At most {MEMBERS_MAX} are taken: send them in several.")


def _check_nesting(value: Any) -> None:
    """Check the nesting level by level: a recursion would fail if values are nested deeper than Python can call."""
    level, depth = [value], 0
    while level := [inner for outer in level for inner in _members(outer)]:
        depth += 1
        if depth > NESTING_MAX:
            raise _too_deep()


def _members(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _too_deep() -> HttpError:
    return HttpError(400, f"Document nesting depth exceeds the maximum allowed ({NESTING_MAX})")


def _check_characters(text: str, value: Any) -> None:
    """Refuse lone surrogates, such as `\\ud800` in an escape: no answer and no topic could hold such a text."""
    if "\\u" in text and _LONE_SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise _refusal("Invalid UTF-16: a surrogate without its other half")


def _no_constant(token: str) -> NoReturn:
    raise _refusal(f"Non-standard token '{token}': use JSON numbers")


def _null(member: str) -> HttpError:
    return _refusal(f'Cannot read the request, because "{member}" is null')


def _refusal(message: str) -> HttpError:
    return HttpError(500, message)
