"""Draws users, roles, patterns, names and requests against a plain model of what SECURITY.md says of roles.

Whatever a request looks like: what it changes its sender may change, what it shows its sender may view, and what is
sent as the table of routes has it is refused for want of a role alone if the sender has none.
"""

from __future__ import annotations

import http.client
import json
import random
import re
from base64 import b64encode
from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import pytest
from drawn_cases import quick_first
from memory_cluster import MemoryOperations
from rest_client import FILE_SOURCE, Rest, ServerMaker
from roles_model import PASSWORD, Model

from connect.cluster.model.connector_values import PartitionOffset, TargetState
from connect.doctor.model.facts import Facts
from connect.rest.errors.http_error import HttpError
from connect.rest.figures import answer_cache
from connect.rest.jobs.evaluation_jobs import EvaluationJobs
from connect.rest.resources import backfills

pytestmark = pytest.mark.timeout(600)
NAMES = [
    "orders-1", "orders-2", "payments-1", "payments-12", "ORDERS-1", "b\u00fccher-1", "bu\u0308cher-1", "a/b", "a%2Fb",
    "x?name=orders-1", "x#y", "orders-1;v=1", "orders-1/../payments-1", "*", "orders-*", "new\nline", "orders-1 x",
    "...",
]  # fmt: skip
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
Asked = tuple[str, str, bytes | None, str]
DENIED = b"it takes the role"
CHANGES = {
    "operator": ["PUT pause", "PUT resume", "PUT stop", "POST restart", "POST restart?includeTasks=true",
                 "DELETE offsets", "POST tasks/0/restart", "PUT topics/reset", "PATCH offsets"],
    "editor": ["PUT config", "PATCH config", "DELETE ", "DELETE ?reset_offsets=true", "PUT rollback/1"],
}  # fmt: skip
READS = ["", "config", "status", "tasks", "tasks/0/status", "topics", "offsets", "history", "why"]
PAGES = ["connector", "edit", "offsets", "history", "letters", "sample", "connector/trace"]
LISTS = [
    "/connectors", "/connectors?expand=info&expand=status", "/connectors?expand=info&notes=true&expand=status",
    "/metrics", "/flow", "/doctor", "/backfills", "/ui", "/ui/flow", "/ui/doctor", "/ui/reports", "/health",
]  # fmt: skip


class Answer(NamedTuple):
    """A response, whole."""

    status: int
    body: bytes

    @property
    def is_denied(self) -> bool:
        return self.status == 403 and DENIED in self.body


class Client:
    """Sends paths as they are written: `requests` would take dots and escapes out of them."""

    def __init__(self, rest: Rest) -> None:
        self._address = urlsplit(rest.url).netloc
        self.tokens: dict[str, str] = {}

    def ask(
        self, user: str, method: str, target: str, body: bytes | None = None, kind: str = "application/json"
    ) -> Answer:
        connection = http.client.HTTPConnection(self._address, timeout=60)
        headers = {"Authorization": "Basic " + b64encode(f"{user}:{PASSWORD}".encode()).decode()}
        if user in self.tokens:
            headers["Cookie"] = f"connect-ui={self.tokens[user]}"
        if body is not None:
            headers["Content-Type"] = kind
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        found = Answer(answer.status, answer.read())
        connection.close()
        return found

    def seen(self, name: str) -> str:
        """The mark that a connector's page has of its present version."""
        page = self.ask("root", "GET", f"/ui/edit?name={quote(name, safe='')}").body
        found = re.search(rb'name="seen" value="([^"]+)"', page)
        return "" if found is None else found[1].decode()


def world(operations: MemoryOperations) -> dict[str, Any]:
    """What is kept of each connector."""
    cluster = operations.cluster
    restarts: dict[str, int] = {}
    for text in cluster.restarts:
        name = re.sub(r"( tasks=\w+ failed=\w+|-0)$", "", text)
        restarts[name] = restarts.get(name, 0) + 1
    return {
        name: (cluster.configs.get(name), cluster.targets.get(name), deepcopy(cluster.offsets.get(name)),
               list(cluster.topics.get(name, ())), restarts.get(name, 0))
        for name in {*cluster.configs, *cluster.offsets, *cluster.topics, *restarts}
    }  # fmt: skip


def mark_of(name: str) -> str:
    """A text that only the connector's configuration, topics or offsets have."""
    return f"mark{b64encode(name.encode()).hex()}end"


def populate(operations: MemoryOperations) -> None:
    for name in NAMES:
        operations.cluster.targets[name] = TargetState.STOPPED
        for version in range(2):
            config = {
                "connector.class": FILE_SOURCE,
                "topic": f"t{version}",
                "file": f"/tmp/{mark_of(name)}",
                "name": name,
            }
            operations.store(name, config, "root")
        operations.cluster.offsets[name] = [PartitionOffset({"p": mark_of(name)}, {"o": 1})]
        operations.cluster.topics[name] = [mark_of(name)]


def path_of(draw: random.Random, name: str) -> str:
    """A name in a path: as a client writes it, or with each byte escaped."""
    if draw.random() < 0.3:
        return "".join(f"%{byte:02{draw.choice('xX')}}" for byte in name.encode())
    return quote(name, safe="")


def config_of(draw: random.Random, name: str) -> dict[str, str]:
    named = {} if draw.random() < 0.6 else {"name": draw.choice([name, *NAMES])}
    return {"connector.class": FILE_SOURCE, "topic": f"t{draw.randrange(9)}", "file": "/tmp/f", **named}


def honest(draw: random.Random, name: str) -> tuple[str, str, str, bytes | None]:
    """A request as the table of routes has it: level, method, target, body."""
    level = draw.choice(["viewer", "operator", "editor"])
    if level == "viewer":
        return level, "GET", f"/connectors/{path_of(draw, name)}/{draw.choice(READS)}".rstrip("/"), None
    method, _, rest = draw.choice(CHANGES[level]).partition(" ")
    body = None
    if rest == "config":
        body = json.dumps(config_of(draw, name)).encode()
    elif rest == "offsets" and method == "PATCH":
        body = json.dumps({"offsets": [{"partition": {"p": mark_of(name)}, "offset": {"o": 2}}]}).encode()
    slash = "/" if rest and not rest.startswith("?") else ""
    return level, method, f"/connectors/{path_of(draw, name)}{slash}{rest}", body


class Crooked:
    """Requests in which names are in several places, or paths are not plain: method, target, body, content type."""

    def __init__(self, draw: random.Random, client: Client, user: str) -> None:
        self.draw, self.client, self.user = draw, client, user
        self.one, self.other = draw.choice(NAMES), draw.choice(NAMES)
        self.escaped = path_of(draw, self.other)

    def drawn(self) -> Asked:
        kinds = [
            self.path,
            self.end,
            self.created,
            self.judged,
            self.page,
            self.form,
            self.poc,
            self.backfill,
            self.list,
        ]
        return self.draw.choice(kinds)()

    def path(self) -> Asked:
        one = path_of(self.draw, self.one)
        raw = self.draw.choice([self.one, one, f"{self.one}/../{self.other}", f"{self.one}/%2e%2e/{self.escaped}"])
        raw = re.sub(r"[^!-~]", lambda found: quote(found[0]), raw)
        method = self.draw.choice(["GET", "PUT", "DELETE", "POST", "PATCH", "HEAD", "OPTIONS"])
        rest = self.draw.choice(["", "/stop", "/config", "/restart", "/offsets"])
        return method, f"/connectors/{raw}{rest}", None, JSON

    def end(self) -> Asked:
        _, method, target, body = honest(self.draw, self.one)
        return method, target + self.draw.choice(["/", "//", f"?name={self.escaped}", "%2F", "/."]), body, JSON

    def created(self) -> Asked:
        new = f"{self.draw.choice(['new', 'orders-', 'payments-'])}{self.draw.randrange(100)}"
        name = self.draw.choice([self.one, f" {self.one}", f"{self.one}\n", new, new, new])
        config = config_of(self.draw, self.draw.choice([self.other, name]))
        body = {"name": name, "config": {**config, **self.draw.choice([{}, {"name": name}])}}
        return "POST", f"/connectors?name={self.escaped}", json.dumps(body).encode(), JSON

    def judged(self) -> Asked:
        validate = f"/connector-plugins/{quote(FILE_SOURCE)}/config/validate"
        body = config_of(self.draw, self.other) | {"name": self.one}
        return "PUT", self.draw.choice([validate, "/doctor", "/connectors/config"]), json.dumps(body).encode(), JSON

    def page(self) -> Asked:
        names = f"name={path_of(self.draw, self.one)}&name={self.escaped}"
        return "GET", f"/ui/{self.draw.choice(PAGES)}?{names}", None, JSON

    def form(self) -> Asked:
        deeds = ["stop", "resume", "pause", "restart", "delete", "apply", "reset", "check", "rollback 1"]
        fields = {
            "token": self.client.tokens[self.user], "name": self.draw.choice([self.one, f" {self.one} "]),
            "seen": self.draw.choice(["new", self.client.seen(self.one), self.client.seen(self.other)]),
            "do": self.draw.choice(deeds), "config": json.dumps(config_of(self.draw, self.other)), "version": "1",
            "offsets": json.dumps({"offsets": []}), "confirm": self.one,
        }  # fmt: skip
        twice = [("name", self.other)] if self.draw.random() < 0.3 else []
        target = f"/ui/{self.draw.choice(['connector', 'edit', 'offsets', 'history'])}"
        target += self.draw.choice(["", f"?name={self.escaped}"])
        return "POST", target, urlencode([*fields.items(), *twice]).encode(), FORM

    def poc(self) -> Asked:
        both = [{"name": name, "config": config_of(self.draw, name)} for name in (self.one, self.other)]
        return "POST", "/poc", json.dumps({"connectors": both}).encode(), JSON

    def backfill(self) -> Asked:
        spec: dict[str, Any] = {"source": {"connector": self.one}}
        if self.draw.random() < 0.8:
            spec["name"] = self.draw.choice(["new", "job of ada", self.one])
        if self.draw.random() < 0.4:
            spec["target"] = {"connector": self.other}
        if self.draw.random() < 0.2:
            spec["source"]["config"] = self.draw.choice(["", "/etc/hostname"])
        return "POST", "/backfills", json.dumps(spec).encode(), JSON

    def list(self) -> Asked:
        return "GET", self.draw.choice(LISTS), None, JSON


class Jobs:
    """Backfills in memory: what was started, and by whom."""

    def __init__(self) -> None:
        self.started: list[Mapping[str, Any]] = []

    def backfills(self) -> list[dict[str, Any]]:
        specs = {f"job of {name}": {"source": {"connector": name, "note": mark_of(name)}} for name in NAMES[:6]}
        return [{"name": name, "spec": spec, "state": "DONE"} for name, spec in specs.items()]

    def start(self, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        self.started.append(body)
        return {"name": str(body.get("name"))}


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    made = Jobs()
    monkeypatch.setattr(backfills._Service, "_service", lambda self: made)
    monkeypatch.setattr(backfills._Service, "_are_there", lambda self: False)
    monkeypatch.setattr(answer_cache, "FIRST_WAIT_S", 0.05)
    monkeypatch.setattr(
        "connect.rest.resources.doctor.gathered",
        lambda worker, _, connectors, configs, **more: Facts(worker, datetime.now(UTC), connectors=connectors, **more),
    )
    return made


class Trial:
    """One cluster and its users, with what each answer has to keep to."""

    def __init__(self, draw: random.Random, model: Model, operations: MemoryOperations, client: Client) -> None:
        self.draw = draw
        self.model = model
        self.operations = operations
        self.client = client
        self.done = {"changes": 0, "shown": 0, "denied": 0}

    def log_in(self) -> None:
        """Get the token of each user's forms."""
        for user in self.model.users:
            found = re.search(rb'name="token" value="([^"]+)"', self.client.ask(user, "GET", "/ui/edit").body)
            self.client.tokens[user] = "k" * 43 if found is None else found[1].decode()

    def step(self, jobs: Jobs, evaluated: list[str], told: str) -> None:
        """Send one request and judge what became of it."""
        user, before = self.draw.choice(self.model.users), world(self.operations)
        level = None
        if self.draw.random() < 0.5:
            level, method, target, body = honest(self.draw, name := self.draw.choice(NAMES))
            answer = self.client.ask(user, method, target, body)
        else:
            method, target, body, kind = Crooked(self.draw, self.client, user).drawn()
            answer = self.client.ask(user, method, target, body, kind)
        said = f"{told}: {user} {method} {target} {body!r}: {answer.status} {answer.body[:300]!r}, {self.model.grants}"
        assert answer.status != 401, said
        assert b"The worker failed with" not in answer.body, said
        if level is not None:
            assert answer.is_denied is not self.model.may(user, level, name), said
        self.done["denied"] += answer.is_denied
        self._changed(user, before, said)
        for seen in NAMES:
            if mark_of(seen).encode() in answer.body and mark_of(seen) not in f"{target}{body!r}":
                self.done["shown"] += 1
                assert self.model.may(user, "viewer", seen), f"{seen!r} was shown: {said}"
        for spec in jobs.started:
            self._started(user, spec, said)
        assert all(self.model.may(user, "editor", one) for one in evaluated), said

    def _changed(self, user: str, before: Mapping[str, Any], said: str) -> None:
        after = world(self.operations)
        for changed in {one for one in before.keys() | after.keys() if before.get(one) != after.get(one)}:
            self.done["changes"] += 1
            was, now = before.get(changed), after.get(changed)
            needed = "editor" if was is None or now is None or was[0] != now[0] else "operator"
            assert self.model.may(user, needed, changed), f"{changed!r} was changed: {said}"

    def _started(self, user: str, spec: Mapping[str, Any], said: str) -> None:
        self.done["changes"] += 1
        parts = [spec.get("source", {}), spec.get("target", {})]
        named = [part["connector"] for part in parts if part.get("connector")]
        is_any = any(part.get("config") for part in parts)
        is_free = any(one.who in {user, "*"} and one.level >= 2 and one.pattern == "*" for one in self.model.grants)
        assert is_free or (not is_any and all(self.model.may(user, "editor", one) for one in named)), said

    def bring_back(self) -> None:
        """Make the deleted ones anew, so that there is something to ask about."""
        for gone in set(NAMES) - self.operations.cluster.configs.keys():
            self.operations.cluster.targets[gone] = TargetState.STOPPED
            config = {"connector.class": FILE_SOURCE, "file": mark_of(gone), "topic": "t", "name": gone}
            self.operations.store(gone, config, "root")


@pytest.mark.parametrize("seed", quick_first(1, of=12))
def test_whatever_is_asked_for_nobody_gets_more_than_their_roles(
    serve: ServerMaker, tmp_path: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw, evaluated = random.Random(seed), []

    def evaluate(_: EvaluationJobs, connectors: list[dict[str, Any]], options: Any) -> Any:
        evaluated.extend(one["name"] for one in connectors)
        raise HttpError(409, "No evaluation runs here.")

    monkeypatch.setattr(EvaluationJobs, "start", evaluate)
    model, operations = Model(draw), MemoryOperations()
    populate(operations)
    trial = Trial(draw, model, operations, Client(serve(operations, worker=model.keys(tmp_path / "users"))))
    trial.log_in()
    for number in range(150):
        del jobs.started[:], evaluated[:]
        trial.step(jobs, evaluated, f"seed {seed}, {number}")
        trial.bring_back()
    assert all(count >= 5 for count in trial.done.values()), trial.done
