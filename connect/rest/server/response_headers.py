"""Adds headers to every answer: `response.http.headers.config`, `[action] [name]: [value], …` as in Kafka Connect.

Actions: set, add; setDate and addDate, whose value is milliseconds from now. A part that holds a comma is quoted.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from email.utils import formatdate
from typing import Final, NamedTuple

from aiohttp import web
from aiohttp.typedefs import Middleware

from connect.api.errors import ConfigError
from connect.rest.server.routing import Answer
from connect.runtime.settings.worker_config import WorkerConfig

KEY: Final = "response.http.headers.config"
_ACTIONS: Final = {"set": False, "add": True, "setdate": False, "adddate": True}


class HeaderRule(NamedTuple):
    """Describes a header to set or add. If `after_ms` is given, the header's value is the date this many milliseconds
    from now.
    """

    name: str
    value: str
    add: bool
    after_ms: int | None = None


def response_headers(worker: WorkerConfig) -> Middleware | None:
    """Return the middleware that adds the headers to answers; None if no headers are configured.

    ConfigError: a part cannot be read.
    """
    rules = header_rules(worker.response_http_headers_config or "")
    if not rules:
        return None

    @web.middleware
    async def add(request: web.Request, handler: Answer) -> web.StreamResponse:
        answer = await handler(request)
        for rule in rules:
            if not rule.add:
                answer.headers.popall(rule.name, None)
            answer.headers.add(rule.name, _value(rule))
        return answer

    return add


def header_rules(text: str) -> Sequence[HeaderRule]:
    """Return the rules of the key's value. ConfigError: a part cannot be read."""
    if not text.strip():
        return ()
    parts = next(csv.reader([text], skipinitialspace=True))
    return [_rule(part.strip()) for part in parts]


def _rule(part: str) -> HeaderRule:
    head, colon, value = part.partition(":")
    words = head.split()
    if not colon or len(words) != 2 or not value.strip():
        raise _refusal(part, "it is not of the form [action] [header name]:[header value]")
    action, name = words
    if action.lower() not in _ACTIONS:
        raise _refusal(part, "the action is none of set, add, setDate, addDate")
    if any(ord(character) < 32 for character in value):
        raise _refusal(part, "the value holds a control character")
    if not action.lower().endswith("date"):
        return HeaderRule(name, value.strip(), _ACTIONS[action.lower()])
    try:
        return HeaderRule(name, "", _ACTIONS[action.lower()], int(value))
    except ValueError:
        raise _refusal(part, "the value of a date is milliseconds from now") from None


def _value(rule: HeaderRule) -> str:
    if rule.after_ms is None:
        return rule.value
    return formatdate(time.time() + rule.after_ms / 1000, usegmt=True)


def _refusal(part: str, why: str) -> ConfigError:
    return ConfigError(f"Invalid value {part!r} for configuration {KEY}: {why}.", key=KEY)
