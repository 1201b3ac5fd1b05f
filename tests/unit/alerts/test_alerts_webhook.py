"""Checks alerts as a receiver gets them, and the keys of a worker's file that say who that is."""

from __future__ import annotations

import hashlib
import hmac
import threading
from typing import Any

import pytest

from connect.alerts.alerting import BEGAN, Alerting
from connect.alerts.changes import Event
from connect.alerts.facts import Alert, Facts, Kind, Subject, Thresholds
from connect.alerts.webhook import Origin, Webhook, json_form, signature, slack_form
from connect.api.errors import ConfigError
from connect.runtime.settings.worker_config import WorkerConfig
from connect.telemetry.secret_texts import SECRET_TEXTS

T0 = 1_700_000_000_000
ORIGIN = Origin("workers", "http://worker-1:8083")
KEYS = {
    "bootstrap.servers": "127.0.0.1:1", "group.id": "workers", "config.storage.topic": "configs",
    "offset.storage.topic": "offsets", "status.storage.topic": "statuses", "key.converter": "j", "value.converter": "j",
}  # fmt: skip


def event(subject: Subject, reason: str = "boom", *, is_over: bool = False) -> Event:
    return Event(Alert(subject, "boom", T0), is_over, T0 + 1000, reason)


def test_json_names_the_task_and_its_page():
    told = json_form(event(Subject(Kind.TASK_FAILED, "a b/ü", 3)), ORIGIN)
    assert {key: told[key] for key in told if key != "id"} == {
        "event": "task_failed", "state": "firing", "cluster": "workers", "connector": "a b/ü", "task": 3,
        "backfill": None, "reason": "boom", "since": "2023-11-14T22:13:20.000Z", "at": "2023-11-14T22:13:21.000Z",
        "url": "http://worker-1:8083/ui/connector?name=a%20b%2F%C3%BC",
    }  # fmt: skip


def test_an_id_stays_when_the_same_is_told_again_and_differs_otherwise():
    subject = Subject(Kind.TASK_FAILED, "c", 0)
    again = Event(Alert(subject, "other words", T0), False, T0 + 99_000, "other words")
    ids = [json_form(told, ORIGIN)["id"] for told in (event(subject), again, event(subject, is_over=True))]
    assert ids[0] == ids[1] != ids[2]


def test_a_backfill_has_its_own_page_and_no_page_where_there_are_none():
    told = json_form(event(Subject(Kind.BACKFILL_FAILED, "b")), ORIGIN)
    assert (told["connector"], told["backfill"], told["url"]) == (None, "b", "http://worker-1:8083/ui/backfill?name=b")
    assert json_form(event(Subject(Kind.LAG, "c")), Origin("workers", ""))["url"] is None


def test_slack_gets_one_text_in_which_no_name_is_a_command():
    told = slack_form(event(Subject(Kind.LAG, "<!channel>"), "a & b", is_over=True), ORIGIN)
    assert told == {
        "text": "[resolved] lag: Connector &lt;!channel&gt; (cluster workers): a &amp; b Since "
        "2023-11-14T22:13:20.000Z. <http://worker-1:8083/ui/connector?name=%3C%21channel%3E|Open>"
    }


def test_a_reason_is_short_and_shows_no_secret():
    told = json_form(event(Subject(Kind.LAG, "c"), "jdbc:postgresql://u:geheim-1x@db/x " + "é" * 5000), ORIGIN)
    assert "geheim-1x" not in told["reason"]
    assert len(told["reason"]) == 1000


def test_the_path_of_the_address_is_in_no_log():
    Webhook("http://127.0.0.1:1/services/T0/B1-of-a-channel", "slack", None, ORIGIN).close()
    assert "B1-of" not in SECRET_TEXTS.hide('http://127.0.0.1:1 "POST /services/T0/B1-of-a-channel HTTP/1.1" 200 2')


def test_a_signature_is_of_time_and_body():
    proof = hmac.new(b"key", b"17.{}", hashlib.sha256).hexdigest()
    assert signature("key", "17", b"{}") == f"sha256={proof}"
    assert signature("key", "18", b"{}") != f"sha256={proof}"


def test_all_broken_keys_are_named_at_once_and_no_address_is_shown():
    given = {
        "alerts.webhook.url": "hooks.example.com/services/T0/token-of-it", "alerts.webhook.format": "xml",
        "alerts.webhook.secret": "short-secret", "alerts.lag.records": "-1", "alerts.stalled.ms": "soon",
        "alerts.dead.letters": "x",
    }  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        WorkerConfig.parse({**KEYS, **given})
    assert {problem.key for problem in caught.value.problems} == set(given)
    assert "token-of-it" not in str(caught.value)
    assert "short-secret" not in str(caught.value)


def test_a_secret_without_an_address_is_a_mistake():
    with pytest.raises(ConfigError, match=r"alerts.webhook.secret is set without alerts.webhook.url"):
        WorkerConfig.parse({**KEYS, "alerts.webhook.secret": "0123456789abcdef"})


class MemoryOfOne:
    def __init__(self) -> None:
        self.found: dict[str, Any] = {"task_failed-x-c": {}, "nonsense": {"reason": "r", "since_ms": 1}}

    def told_alerts(self) -> dict[str, Any]:
        return dict(self.found)

    def remember_alert(self, key: str, members: Any) -> None:
        if members is None:
            self.found.pop(key)
        else:
            self.found[key] = members


def test_a_new_leader_goes_on_where_the_last_one_stopped():
    memory = MemoryOfOne()
    told: list[tuple[Subject, bool]] = []
    taken = threading.Semaphore(0)

    def deliver(event: Event) -> None:
        told.append((event.alert.subject, event.is_over))
        taken.release()

    def facts(at_ms: int, state: str) -> Facts:
        status = {"name": "c", "connector": {"state": state, "since": "2023-11-14T22:13:20.000Z"}, "tasks": []}
        return Facts(T0 + at_ms, {"c": status})

    subject = Subject(Kind.CONNECTOR_FAILED, "c")
    looks = [[(0, "FAILED")], [(5000, "FAILED")], [(10_000, "RUNNING"), (25_000, "RUNNING")], [(30_000, "RUNNING")]]
    for number, leader in enumerate(looks):
        alerting = Alerting(Thresholds(0, 0, 0), memory, deliver)
        for at_ms, state in leader:
            alerting.look(facts(at_ms, state), heard_all=True)
        for _ in range((1, 0, 1, 0)[number]):
            assert taken.acquire(timeout=60)
        alerting.outbox.close()
    assert told == [(subject, False), (subject, True)]
    assert memory.found[BEGAN] == {"since_ms": T0}
    assert subject.key not in memory.found
