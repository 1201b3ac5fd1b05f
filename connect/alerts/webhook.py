"""Writes an alert as the receiver wants it, signs it, and posts it."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlsplit

import orjson

from connect.alerts.changes import Event
from connect.alerts.facts import iso
from connect.lib.http_client import HttpClient, NoAnswerError, environment_proxy
from connect.lib.secrets import masked
from connect.telemetry.secret_texts import SECRET_TEXTS

TIMESTAMP: Final = "X-Connect-Timestamp"
SIGNATURE: Final = "X-Connect-Signature"
_TIMEOUT_S: Final = 10.0
_REASON_CHARS: Final = 1000
_REFUSALS: Final = frozenset({400, 413, 422})
"""A receiver that answers with one of these will never take this alert; after other errors it is sent again."""


class UndeliveredError(Exception):
    """Says why a receiver did not take an alert. `is_final` is True if the receiver will never take it."""

    def __init__(self, text: str, *, is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class Origin:
    """Names the sender: the cluster's `group.id`, and the address of a worker's pages (empty if it has none)."""

    cluster: str
    pages: str

    def link(self, event: Event) -> str | None:
        """Return the page about an event's subject."""
        subject = event.alert.subject
        page = "backfill" if subject.is_backfill else "connector"
        return f"{self.pages}/ui/{page}?name={quote(subject.name, safe='')}" if self.pages else None


def json_form(event: Event, origin: Origin) -> dict[str, Any]:
    """Return an event for programs. If it is sent twice, its `id` is the same, if its beginning is stored."""
    subject = event.alert.subject
    state = "resolved" if event.is_over else "firing"
    told = "\n".join((origin.cluster, subject.key, str(event.alert.since_ms), state))
    return {
        "id": hashlib.sha256(told.encode()).hexdigest()[:32],
        "event": subject.kind.value,
        "state": state,
        "cluster": origin.cluster,
        "connector": None if subject.is_backfill else subject.name,
        "task": subject.task,
        "backfill": subject.name if subject.is_backfill else None,
        "reason": _shown(event.reason),
        "since": iso(event.alert.since_ms),
        "at": iso(event.at_ms),
        "url": origin.link(event),
    }


def slack_form(event: Event, origin: Origin) -> dict[str, Any]:
    """Return an event in the form that Slack's incoming webhooks accept."""
    subject = event.alert.subject
    state = "resolved" if event.is_over else "firing"
    text = f"[{state}] {subject.kind.value}: {subject.title} (cluster {origin.cluster}): {_shown(event.reason)}"
    link = origin.link(event)
    since = f" Since {iso(event.alert.since_ms)}."
    return {"text": _escaped(text + since) + (f" <{_escaped(link)}|Open>" if link else "")}


FORMS: Final[dict[str, Callable[[Event, Origin], dict[str, Any]]]] = {"json": json_form, "slack": slack_form}


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature that proves that somebody who knows the secret sent this body at this time."""
    proof = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"sha256={proof.hexdigest()}"


class Webhook:
    """Sends events to one address, and tries each once."""

    def __init__(self, url: str, form: str, secret: str | None, origin: Origin) -> None:
        # Whoever knows the path may write to the Slack channel, and urllib3 logs the path at level DEBUG.
        SECRET_TEXTS.add((url, urlsplit(url).path))
        self._url = url
        self._form = FORMS[form]
        self._secret = secret
        self._origin = origin
        # An event that got a status was taken or refused. It is not sent again because the body is cut or too long.
        self._client = HttpClient(timeout_s=_TIMEOUT_S, proxy=environment_proxy(url), head_only=True)

    def deliver(self, event: Event) -> None:
        """Send an event, and return when the receiver has taken it. UndeliveredError."""
        body = orjson.dumps(self._form(event, self._origin))
        headers = {"Content-Type": "application/json", TIMESTAMP: str(int(time.time()))}
        if self._secret:
            headers[SIGNATURE] = signature(self._secret, headers[TIMESTAMP], body)
        try:
            answer = self._client.ask("POST", self._url, headers=headers, body=body)
        except NoAnswerError as error:
            raise UndeliveredError(_shown(f"{error.kind}: {error}")) from None
        if not 200 <= answer.status < 300:
            text = f"it answers HTTP {answer.status} {answer.reason}".rstrip()
            raise UndeliveredError(text, is_final=answer.status in _REFUSALS)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _shown(text: str) -> str:
    text = SECRET_TEXTS.shown(masked(text))
    return text if len(text) <= _REASON_CHARS else f"{text[: _REASON_CHARS - 1]}…"


def _escaped(text: str) -> str:
    """Return a text with its special characters escaped, so that Slack reads no command in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
