"""Sends requests to Elasticsearch or OpenSearch: the bulk API and indices. It knows what refusals mean.

No client library is used: Elasticsearch's refuses OpenSearch and servers of another major version, and OpenSearch's the
newer Elasticsearch, while these few requests are the same to all of them from version 7 on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

import orjson
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connect.lib.http_client import Answer
from connectors.http.calls.peer import TOO_BUSY, Caller
from connectors.http.search.config import TIMESTAMP, StreamTemplate
from connectors.http.search.documents import Action

_JSON: Final = {"Content-Type": "application/json"}
_LINES: Final = {"Content-Type": "application/x-ndjson"}
_TOO_LARGE: Final = 413
_CONFLICT: Final = 409
_REFUSED: Final = 400
_FORBIDDEN: Final = 403
_MISSING: Final = 404
_SHOWN_CHARS: Final = 500
_PRIORITY: Final = 200
"""Index templates are made with this priority, as by Aiven's sink. Those of a smaller one do not count beside them."""
_INVALID: Final = "action_request_validation_exception"
"""With an error of this type a whole bulk request is refused for one of its actions, as for an id that is too long."""
_MALFORMED: Final = frozenset({
    "strict_dynamic_mapping_exception", "mapper_parsing_exception", "document_parsing_exception",
    "illegal_argument_exception", _INVALID,
})  # fmt: skip
"""Errors of these types are a document's own, as Confluent's sink lists them."""
T = TypeVar("T")


class Refusal(NamedTuple):
    """Tells why the server refused the document of a row.

    With `is_for_now` it may take the same one later. With `is_malformed` the document itself is what it does not take.
    With `is_conflict` the document that is there has the row's version or a later one, or, in a data stream, its id.
    `status` is the HTTP status of the document.
    """

    row: int
    reason: str
    status: int
    is_for_now: bool
    is_malformed: bool
    is_conflict: bool = False


class _Error(BaseModel):
    type: str = ""
    reason: str | None = None
    caused_by: Mapping[str, Any] | None = None


class _Item(BaseModel):
    status: int
    error: _Error | None = None
    id: str | None = Field(default=None, alias="_id")


class _RefusedBulk(BaseModel):
    error: _Error


class _Bulk(BaseModel):
    items: list[dict[str, _Item]]


class _Version(BaseModel):
    number: str


class _Hello(BaseModel):
    version: _Version


_BULK: Final = TypeAdapter(_Bulk)
_REFUSED_BULK: Final = TypeAdapter(_RefusedBulk)
_HELLO: Final = TypeAdapter(_Hello)
_MAPPINGS: Final = TypeAdapter(dict[str, dict[str, Any]])


class SearchServer:
    """Sends requests by a caller. Owned by the task thread.

    All calls raise RetriableError if the server is away or too busy, and ConnectError if it refuses for good.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def version(self, deadline: Deadline) -> str:
        """Return the server's version."""
        return self._ask(_HELLO, "GET", "/", deadline).version.number

    def bulk(self, actions: Sequence[Action], deadline: Deadline) -> list[Refusal]:
        """Carry actions out, and return the refusals. An action that was carried out before does nothing again."""
        answer = self._caller.ask(
            "POST", "/_bulk", deadline, body=b"".join(action.lines for action in actions), headers=_LINES
        )
        one_is_bad = _error_of_one(answer)
        if one_is_bad is not None:
            if len(actions) == 1:
                return [Refusal(actions[0].row, one_is_bad, answer.status, is_for_now=False, is_malformed=True)]
            half = len(actions) // 2
            return self.bulk(actions[:half], deadline) + self.bulk(actions[half:], deadline)
        items = self._parsed(_BULK, answer).items
        if len(items) != len(actions) or not all(len(item) == 1 for item in items):
            raise self._no_search_server(
                answer, f"it tells of {len(items)} documents, of {len(actions)} that were sent"
            )
        told = [(action, *next(iter(item.items()))) for action, item in zip(actions, items, strict=True)]
        for action, kind, item in told:
            is_of_it = item.id == action.document_id or (item.id is None and item.status >= _REFUSED)
            if kind != action.kind or not is_of_it:
                raise self._no_search_server(answer, "it tells of another document than the one that was sent")
        return [_refusal(action, item) for action, _, item in told if not _is_done(action, item)]

    def require_index(
        self, name: str, mapping: Mapping[str, Any] | None, deadline: Deadline, *, makes_it: bool = True
    ) -> None:
        """Create an index with the mapping if there is none. An index without any fields gets the mapping, too.

        Raise ConfigError if there is none and `makes_it` is False.
        """
        path = f"/{quote(name, safe='')}"
        answer = self._caller.ask("GET", f"{path}/_mapping", deadline)
        if answer.status == _MISSING and not makes_it:
            raise ConfigError(
                f"There is no index or alias {name}.",
                key="topic.to.external.resource.mapping",
                fix="Make it, name another one, or set external.resource.usage to DISABLED.",
            )
        if answer.status == _MISSING:
            self._make(path, {"mappings": mapping} if mapping else {}, deadline)
            return
        found = self._parsed(_MAPPINGS, answer)
        if mapping and not any(index.get("mappings") for index in found.values()):
            self._put_mapping(path, mapping, deadline)

    def require_stream(
        self, name: str, template: StreamTemplate | None, mapping: Mapping[str, Any] | None, deadline: Deadline
    ) -> None:
        """Create a data stream if there is none. The server needs an index template for it: one that is given is made
        where it is not there, and the data stream gets the mapping, also later if it has no fields yet.
        """
        path = f"/_data_stream/{quote(name, safe='')}"
        if self._has_stream(name, path, deadline):
            if template is not None and mapping:
                self._require_fields(name, template, mapping, deadline)
            return
        if template is not None:
            self._require_template(name, template, deadline)
        self._make(path, None, deadline)
        if template is not None and mapping:
            self._put_mapping(f"/{quote(name, safe='')}", mapping, deadline)

    def _has_stream(self, name: str, path: str, deadline: Deadline) -> bool:
        """Return True if there is a data stream. A user who may not see data streams is asked for the name, as Java's
        sinks ask, so that no write makes an index where no data stream is.
        """
        answer = self._caller.ask("GET", path, deadline)
        if answer.status == _FORBIDDEN:
            answer = self._caller.ask("HEAD", f"/{quote(name, safe='')}", deadline)
        if answer.status != _MISSING:
            self._expect(answer)
        return answer.status != _MISSING

    def _require_fields(
        self, stream: str, template: StreamTemplate, mapping: Mapping[str, Any], deadline: Deadline
    ) -> None:
        """Put the mapping if the data stream has no field but that of the time, as where tombstones made it. The
        mapping of a user who may not see it stays as it is.
        """
        path = f"/{quote(stream, safe='')}"
        answer = self._caller.ask("GET", f"{path}/_mapping", deadline)
        if answer.status == _FORBIDDEN:
            return
        found = self._parsed(_MAPPINGS, answer)
        known = {field for index in found.values() for field in index.get("mappings", {}).get("properties", {})}
        if not known - {TIMESTAMP, template.timestamp_field}:
            self._put_mapping(path, mapping, deadline)

    def _require_template(self, stream: str, template: StreamTemplate, deadline: Deadline) -> None:
        path = f"/_index_template/{quote(template.name, safe='')}"
        answer = self._caller.ask("GET", path, deadline)
        if answer.status == _FORBIDDEN:
            return  # others make it; without one the server refuses to make the data stream
        if answer.status != _MISSING:
            self._expect(answer)
            return
        # Elasticsearch knows no other field of the time, and refuses to hear of one.
        field = {} if template.timestamp_field == TIMESTAMP else {"timestamp_field": {"name": template.timestamp_field}}
        body = {"index_patterns": [stream], "priority": _PRIORITY, "data_stream": field}
        self._expect(self._caller.ask("PUT", path, deadline, body=orjson.dumps(body), headers=_JSON))

    def _put_mapping(self, path: str, mapping: Mapping[str, Any], deadline: Deadline) -> None:
        self._expect(self._caller.ask("PUT", f"{path}/_mapping", deadline, body=orjson.dumps(mapping), headers=_JSON))

    def _make(self, path: str, body: Mapping[str, Any] | None, deadline: Deadline) -> None:
        content = None if body is None else orjson.dumps(body)
        answer = self._caller.ask("PUT", path, deadline, body=content, headers=_JSON)
        if answer.status != 400 or b"resource_already_exists_exception" not in answer.data:
            self._expect(answer)

    def _ask(self, kind: TypeAdapter[T], method: str, path: str, deadline: Deadline) -> T:
        return self._parsed(kind, self._caller.ask(method, path, deadline))

    def _parsed(self, kind: TypeAdapter[T], answer: Answer) -> T:
        self._expect(answer)
        try:
            return kind.validate_json(answer.data)
        except ValidationError as error:
            wrong = error.errors(include_input=False, include_url=False)[0]
            raise self._no_search_server(answer, wrong["msg"]) from None

    def _expect(self, answer: Answer) -> None:
        """Raise the error that an answer stands for, unless it is a success."""
        if answer.status < 300:
            return
        text = answer.data[:_SHOWN_CHARS].decode(errors="replace")
        if answer.status in {401, _FORBIDDEN}:
            raise refused_access(answer.status, text)
        if answer.status in TOO_BUSY:
            raise RetriableError(f"The search server cannot do that for now (HTTP {answer.status}: {text}).")
        raise ConnectError(f"The search server refused a request (HTTP {answer.status}: {text}).", key="connection.url")

    @staticmethod
    def _no_search_server(answer: Answer, why: str) -> ConfigError:
        return ConfigError(
            f"What answers is no Elasticsearch and no OpenSearch (HTTP {answer.status}: {why}).",
            key="connection.url",
            fix="Give the address of its REST API, such as http://es:9200.",
        )


def refused_access(status: int, text: str) -> ConfigError:
    """Return the error of a server that lets the user not do that, with the status and text of its answer."""
    return ConfigError(
        f"The search server refuses access (HTTP {status}: {text}).",
        key="connection.username",
        fix="Check connection.username and connection.password, and that this user may write the indices.",
    )


def _error_of_one(answer: Answer) -> str | None:
    """Return why a bulk request was refused as a whole for one of its documents, whichever it is; else None."""
    if answer.status == _TOO_LARGE:
        return "The document is larger than the server takes."
    if answer.status != _REFUSED or _INVALID.encode() not in answer.data:
        return None
    try:
        error = _REFUSED_BULK.validate_json(answer.data).error
    except ValidationError:
        return None
    return _told(error, answer.status) if error.type == _INVALID else None


def _is_done(action: Action, item: _Item) -> bool:
    """Return True if nothing is left to do: it was done, or nothing was there to delete."""
    gone = action.kind == "delete" and item.status == 404 and item.error is None
    return item.status < 300 or gone


def _refusal(action: Action, item: _Item) -> Refusal:
    error = item.error or _Error()
    is_conflict = item.status == _CONFLICT and action.is_versioned
    is_for_now = item.status in TOO_BUSY or (item.status == _CONFLICT and not is_conflict)
    told = _told(error, item.status)
    return Refusal(action.row, told, item.status, is_for_now, error.type in _MALFORMED, is_conflict)


def _told(error: _Error, status: int) -> str:
    cause = (error.caused_by or {}).get("reason")
    text = ": ".join(str(part) for part in (error.type, error.reason, cause) if part) or f"HTTP {status}"
    return text[:_SHOWN_CHARS]
