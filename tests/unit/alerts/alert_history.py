"""Runs one random history of alerts: connectors fail and heal, leaders change and freeze, a real receiver answers
oddly.

The plain model knows what docs/design/alerts.md promises: every change that a leader has seen is told once, in order.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from histories import History

from connect.alerts.alerting import Alerting
from connect.alerts.changes import Event
from connect.alerts.facts import Facts, Thresholds
from connect.alerts.leader_delivery import while_leading
from connect.alerts.outbox import Outbox
from connect.alerts.webhook import Origin, Webhook

WAIT_S = 60.0
SETTLED_MS = 15_000
LIMITS = Thresholds(lag_rows=0, stalled_ms=0, dead_letters=0)
ODD = ("500", "302", "429", "close")
"""What a receiver does that does not take an alert, and would take it later."""
Told = tuple[str, str]


class Receiver:
    """A server of HTTP that takes alerts, or does what `mode` says. It keeps what it took, in order."""

    def __init__(self) -> None:
        self.mode = "200"
        self.taken: list[Told] = []
        self.changed = threading.Condition()
        self.asked = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.changed:
                    mode = outer.mode
                    outer.asked += 1
                    if mode.startswith("2"):
                        outer.taken.append((body["connector"], body["state"]))
                    outer.changed.notify_all()
                if mode == "close":
                    self.close_connection = True
                    return
                self.send_response(int(mode))
                if mode == "302":
                    self.send_header("Location", f"http://127.0.0.1:{self.server.server_address[1]}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def wait(self, condition: Any, what: str) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, WAIT_S), f"{what}: it took {self.taken}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Topic:
    """The memory that all workers share."""

    def __init__(self) -> None:
        self.told: dict[str, Mapping[str, Any]] = {}

    def told_alerts(self) -> Mapping[str, Mapping[str, Any]]:
        return dict(self.told)

    def remember_alert(self, key: str, members: Mapping[str, Any] | None) -> None:
        if members is None:
            self.told.pop(key, None)
        else:
            self.told[key] = members


class Worker:
    """One worker's alerts; frozen, none of its threads goes on."""

    def __init__(self, name: str, world: AlertHistory) -> None:
        self.name, self._world = name, world
        self._webhook = Webhook(world.receiver.url, "json", None, Origin("c", ""))
        self.thawed, self.under_way, self.tries = threading.Event(), threading.Lock(), 0
        self.thawed.set()
        self._deliver = while_leading(lambda: world.leader is self, self._webhook.deliver, self._waits)
        self.alerting = Alerting(LIMITS, world.topic, self._unless_frozen, lambda: world.now_ms / 1000)
        self.alerting.outbox.close()
        self.alerting.outbox = Outbox(self._unless_frozen, self._told, again_s=0.001)

    def _waits(self, event: Event) -> bool:
        return self.alerting.outbox.waits(event)

    def _unless_frozen(self, event: Event) -> None:
        self.thawed.wait(WAIT_S)
        try:
            with self.under_way:
                self._deliver(event)
        finally:
            with self._world.receiver.changed:
                self.tries += 1
                self._world.receiver.changed.notify_all()

    def _told(self, event: Event) -> None:
        self.alerting._remember(event)
        with self._world.receiver.changed:
            self._world.remembered += 1
            self._world.receiver.changed.notify_all()

    def look(self) -> None:
        self.alerting.look(Facts(self._world.now_ms, self._world.statuses()), heard_all=True)

    def close(self) -> None:
        self.thawed.set()
        self.alerting.outbox.close()
        self._webhook.close()


class AlertHistory:
    """Does random steps, and compares what the receiver took with the model."""

    def __init__(self, history: History) -> None:
        self._history, self._draw = history, history.draw
        self.receiver, self.topic = Receiver(), Topic()
        self.now_ms, self.remembered = 1_700_000_000_000, 0
        self._failing = {f"c{number}": False for number in range(4)}
        self.workers = [Worker(name, self) for name in "AB"]
        self.leader = self.workers[0]
        self._frozen: Worker | None = None
        # The model: what the leader of now has seen and told, or will tell; since when each is well, as they began.
        self._fires: dict[str, int | None] = {}
        self.expected: list[Told] = []

    def statuses(self) -> dict[str, dict[str, Any]]:
        """Return the statuses as REST shows them."""
        return {
            name: {"name": name, "connector": {"state": "FAILED" if fails else "RUNNING"}, "tasks": []}
            for name, fails in self._failing.items()
        }

    def run(self, steps: int) -> None:
        """Do the steps, and compare at the end."""
        steps_of = [self._fail] * 4 + [self._wait] * 4 + [self._answer] * 3 + [self._lead, self._freeze, self._thaw]
        for _ in range(steps):
            self._draw.choice(steps_of)()
            self._look()
        self.receiver.mode = "200"
        self._compare()

    def close(self) -> None:
        """Let everything go."""
        for worker in self.workers:
            worker.close()
        self.receiver.close()

    def _fail(self) -> None:
        name = self._draw.choice(sorted(self._failing))
        self._failing[name] = not self._failing[name]
        self._history.note("fail" if self._failing[name] else "heal", connector=name)

    def _wait(self) -> None:
        span_ms = self._draw.choice([1000, 5000, 16_000])
        self._history.note("wait", ms=span_ms)
        self.now_ms += span_ms

    def _answer(self) -> None:
        self.receiver.mode = self._draw.choice(["200", "204", *ODD])
        self._history.note("the receiver answers", mode=self.receiver.mode)

    def _look(self) -> None:
        """Let the leader look, and the model with it: what is over in the order in which it began, and what begins."""
        self.leader.look()
        for name, before_ms in list(self._fires.items()):
            if self._failing[name]:
                self._fires[name] = None
                continue
            well_ms = self._fires[name] = self.now_ms if before_ms is None else before_ms
            if self.now_ms - well_ms >= SETTLED_MS:
                self.expected.append((name, "resolved"))
                del self._fires[name]
        for name, fails in self._failing.items():
            if fails and name not in self._fires:
                self.expected.append((name, "firing"))
                self._fires[name] = None

    def _lead(self) -> None:
        """Let another worker lead, which tells what the receiver has not taken."""
        other = next(worker for worker in self.workers if worker is not self.leader)
        if other is self._frozen:
            return
        self._take_over(other)
        former = next(worker for worker in self.workers if worker is not other)
        former.alerting.release()

    def _take_over(self, other: Worker) -> None:
        self._history.note("another worker leads", worker=other.name)
        former = self.leader
        if self.receiver.mode.startswith("2") and former is not self._frozen:
            self._compare()
        with former.under_way:
            # From here on the receiver takes nothing that the former leader has queued.
            self.leader = other
            self.expected = taken = list(self.receiver.taken)
        # What a leader dies of between an answer and its memory comes twice, as documented; this model leaves that out.
        self.receiver.wait(lambda: self.remembered >= len(taken), "the memory of what was taken")
        told: dict[str, str] = {}
        for name, state in taken:
            told.pop(name, None)
            told[name] = state
        self._fires = {name: None for name, state in told.items() if state == "firing"}

    def _freeze(self) -> None:
        """Freeze the leader, perhaps in the midst of its queue, and let the other one lead."""
        if self._frozen is None:
            self._frozen = self.leader
            self._history.note("freeze the leader", worker=self._frozen.name)
            self._frozen.thawed.clear()
            self._take_over(next(worker for worker in self.workers if worker is not self._frozen))

    def _thaw(self) -> None:
        """Let a frozen worker go on: with its queue first, and only then does it hear that it leads no more."""
        if self._frozen is None:
            return
        thawed, self._frozen = self._frozen, None
        self._history.note("thaw", worker=thawed.name)
        tries, is_queued = thawed.tries, bool(thawed.alerting.outbox._waiting)
        thawed.thawed.set()
        if is_queued:
            self.receiver.wait(lambda: thawed.tries > tries, "a try of the thawed worker")
        thawed.alerting.release()

    def _compare(self) -> None:
        expected = self.expected
        self.receiver.wait(
            lambda: min(len(self.receiver.taken), self.remembered) >= len(expected), f"expected {expected}"
        )
        assert self.receiver.taken == expected, f"taken {self.receiver.taken}, expected {expected}"
