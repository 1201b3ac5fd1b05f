"""Draws JSON of any shape for each route that takes a body: no answer says that the worker failed, and what Java lacks
answers 400 to a body that it cannot use.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Self

import pytest
from drawn_cases import cases, quick_first
from rest_client import FILE_SOURCE, Rest, ServerMaker

from connect.backfill.child import BackfillChildren
from connect.backfill.job.pace_limits import limited
from connect.backfill.job.spec import Limits
from connect.backfill.job.states import JobStateError
from connect.backfill.service import BackfillService
from connect.cluster.model.connector_values import TargetState
from connect.doctor.model.facts import Facts
from connect.rest.app import ROUTES
from connect.rest.errors.http_error import HttpError
from connect.rest.jobs.evaluation_jobs import EvaluationJobs
from connect.rest.resources import backfills
from connect.rest.server.routing import Route

pytestmark = pytest.mark.timeout(300)
TAKING: Final = [route for route in ROUTES if route.body is not None]
OWN: Final = ("/doctor", "/backfills", "/poc")
"""Kafka Connect lacks these resources. Its own ones answer 500 to a body that they cannot use, as clients expect."""
CONFIG: Final = {"name": "a", "connector.class": FILE_SOURCE, "topic": "t", "tasks.max": "1"}
WHOLE: Final[Mapping[str, Any]] = {
    "/connectors": {
        "name": "a", "config": CONFIG, "initial_state": "PAUSED",
        "initial_offsets": [{"partition": {"filename": "f"}, "offset": {"position": 1}}],
    },
    "/connectors/{name}/offsets": {"offsets": [{"partition": {"filename": "f"}, "offset": {"position": 1}}]},
    "/admin/loggers/{logger}": {"level": "INFO"},
    "/poc": {"connectors": [{"name": "a", "config": CONFIG}], "options": {"sample_rows": 10, "show_values": True}},
    "/backfills": {
        "apiVersion": "backfill/v1", "name": "b", "kind": "source", "source": {"connector": "a"},
        "engine": {"type": "local"}, "chunking": {"rows": 10, "max_bytes": "32MiB"},
        "limits": {"window": "22:00-06:00 Europe/Berlin", "max_replica_lag": "5m"}, "handover": {"mode": "auto"},
    },
    "/backfills/{name}/limits": {"max_rows_per_second": 10, "window": "22:00-06:00 Europe/Berlin"},
}  # fmt: skip
"""A body that the route understands; of the others that is a configuration."""
SCALARS: Final[Sequence[Any]] = (
    None, True, False, 0, -1, 1.5, 1e308, 10**30, "", "a", "\x00", "é\U0001f600", "a" * 3000, "22:99-1", "99x", "${x}",
    "${file:/no:where}", "1e999", "local[*", "sc://", "[", "\n", "Etc/../../x", "22:00-06:00 \x00",
)  # fmt: skip


def drawn(draw: random.Random, depth: int = 0) -> Any:
    """Any JSON."""
    match draw.randrange(2 if depth > 3 else 4):
        case 2:
            return [drawn(draw, depth + 1) for _ in range(draw.randrange(4))]
        case 3:
            return {str(draw.choice(SCALARS)): drawn(draw, depth + 1) for _ in range(draw.randrange(4))}
        case _:
            return draw.choice(SCALARS)


def changed(draw: random.Random, whole: Any) -> Any:
    """The same with one place of it replaced by something else, or with one member more."""
    if isinstance(whole, dict) and whole and draw.random() < 0.85:
        key = draw.choice(sorted(whole))
        if draw.random() < 0.1:
            return whole | {str(draw.choice(SCALARS)): drawn(draw)}
        return whole | {key: changed(draw, whole[key])}
    if isinstance(whole, list) and whole and draw.random() < 0.85:
        place = draw.randrange(len(whole))
        return [changed(draw, one) if number == place else one for number, one in enumerate(whole)]
    return drawn(draw)


def path_of(route: Route) -> str:
    names = {"{name}": "a", "{plugin}": "FileStreamSource", "{logger}": "connect.rest.nothing"}
    path = route.path
    for part, name in names.items():
        path = path.replace(part, name)
    assert "{" not in path, f"This test knows no name for {route.path}: add one."
    return path


class Known:
    """Stands for a job that runs: its limits are changed without Kafka."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def limit(self, given: Mapping[str, Any]) -> Any:
        return limited(Limits(), given).pace


@pytest.fixture
def asked(serve: ServerMaker, monkeypatch: pytest.MonkeyPatch) -> Rest:
    """A worker with a stopped connector, on which no body begins a process."""

    def begun(*_: Any, **__: Any) -> Any:
        raise JobStateError("A process would begin.")

    def evaluated(*_: Any) -> Any:
        raise HttpError(409, "An evaluation would begin.")

    monkeypatch.setattr(BackfillChildren, "answer", begun)
    monkeypatch.setattr(BackfillService, "_driver", lambda *_: Known())
    monkeypatch.setattr(EvaluationJobs, "start", evaluated)
    monkeypatch.setattr(backfills._Service, "_are_there", lambda _: False)
    monkeypatch.setattr(
        "connect.rest.resources.doctor.gathered",
        lambda worker, _, connectors, configs, **more: Facts(worker, datetime.now(UTC), connectors=connectors, **more),
    )
    rest = serve()
    rest.create("a")
    rest.operations.cluster.targets["a"] = TargetState.STOPPED
    return rest


@pytest.mark.parametrize("seed", quick_first(2, of=6))
def test_no_shape_of_a_body_lets_the_worker_fail(asked: Rest, seed: int) -> None:
    draw = random.Random(seed)
    for number in range(cases(150, drawn=1500)):
        route = draw.choice(TAKING)
        whole = WHOLE.get(route.path, CONFIG)
        body = changed(draw, whole) if draw.random() < 0.8 else drawn(draw)
        answer = asked(route.method, path_of(route), body)
        said = f"{number}: {route.method} {route.path} {json.dumps(body)[:500]}: {answer.status_code} {answer.text}"
        assert "The worker failed" not in answer.text, said
        assert answer.status_code < 500 or not route.path.startswith(OWN), said


@pytest.mark.parametrize("route", TAKING, ids=lambda route: f"{route.method} {route.path}")
@pytest.mark.parametrize("body", [None, 1, "x", [], [1], {"connector.class": {"a": 1}}, {"name": [1]}, {"level": []}])
def test_a_body_of_another_shape_is_400_where_java_has_no_such_resource(asked: Rest, route: Route, body: Any) -> None:
    answer = asked(route.method, path_of(route), body)
    if route.path.startswith(OWN):
        assert answer.status_code == 400, answer.text
    assert "The worker failed" not in answer.text
