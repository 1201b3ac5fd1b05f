"""Declares the worker's settings of alerts: who gets them, and from which limits on something needs a person.

Parsing is elsewhere; no I/O here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, SecretStr

from connect.api.config import Config, Int, Long, Password, String, at_least, key, one_of
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach

WEBHOOK_URL: Final = "alerts.webhook.url"
_KEY: Final = "alerts.webhook.secret"
_SECRET_CHARS: Final = 16


def _check_url(value: SecretStr) -> SecretStr:
    """Return the address. An error does not show it, as whoever knows it may write to the channel."""
    try:
        url = urlsplit(value.get_secret_value())
        is_whole = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        is_whole = False
    if not is_whole:
        raise ValueError("it is not of the form https://host/path")
    return value


def _check_secret(value: SecretStr) -> SecretStr:
    if len(value) < _SECRET_CHARS:
        raise ValueError(f"it has fewer than {_SECRET_CHARS} characters; take `openssl rand -hex 32`")
    return value


class AlertKeys(Config):
    """Holds a worker's settings of alerts. They have to be the same on every worker, as any of them may lead."""

    alerts_webhook_url: Annotated[Password, AfterValidator(_check_url)] = key(
        WEBHOOK_URL,
        None,
        doc="Address to which the leader posts alerts: failed connectors and tasks, those that stand still, lag, dead "
        "letters, backfills that ended. Secret as a whole. Default: no alerts.",
        reach=Reach.URL,
    )
    alerts_webhook_format: Annotated[String, one_of("json", "slack")] = key(
        "alerts.webhook.format",
        "json",
        doc="Form of an alert. json: for programs; slack: for Slack's incoming webhooks and what takes the same.",
        importance="low",
    )
    alerts_webhook_secret: Annotated[Password, AfterValidator(_check_secret)] = key(
        _KEY,
        None,
        doc="Key of the HMAC-SHA256 over time and body in X-Connect-Signature, by which the receiver knows the sender; "
        "16 characters at least.",
        importance="low",
    )
    alerts_lag_records: Annotated[Long, at_least(0)] = key(
        "alerts.lag.records",
        1_000_000,
        doc="Alert when more records than that wait for a sink connector; 0: never.",
        importance="low",
    )
    alerts_stalled_ms: Annotated[Long, at_least(0)] = key(
        "alerts.stalled.ms",
        300_000,
        doc="Alert when a connector or task has stood still for so long; 0: never.",
        importance="low",
    )
    alerts_dead_letters: Annotated[Int, at_least(0)] = key(
        "alerts.dead.letters",
        100,
        doc="Alert when a connector has written more dead letters than that within an hour; 0: never.",
        importance="low",
    )
    alerts_budget_percent: Annotated[Int, at_least(0)] = key(
        "alerts.budget.percent",
        80,
        doc="Alert when a connector has used so much of the budget of a day that it was given; 0: never.",
        importance="low",
    )

    def alert_problems(self) -> Iterable[ConfigProblem]:
        """Yield the problems of settings that do not fit together."""
        if self.alerts_webhook_secret and not self.alerts_webhook_url:
            yield ConfigProblem(_KEY, f"{_KEY} is set without {WEBHOOK_URL}, so that nothing is sent.")
