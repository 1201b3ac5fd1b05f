"""Whatever a server of an HTTP sink answers, the sink ends with an error of its own, and nothing goes elsewhere."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pytest
from drawn_answers import drawn_lie
from drawn_cases import quick_first
from hostile_http import Handler, hostile, say
from hostile_texts import ANSI

from connect.api.connector import SinkTask
from connect.api.errors import ConnectError, RejectedRowsError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.http.api.config import HttpSinkConfig
from connectors.http.api.sink import HttpSinkTask
from connectors.http.search.config import SearchSinkConfig
from connectors.http.search.sink import SearchSinkTask

pytestmark = pytest.mark.attacks

TP = TopicPartition("orders", 0)
TIMEOUT_S = 0.5
SLACK_S = 60.0
LONGEST_TEXT = 5000
LIES_OF_A_SEED = 8


def api_task(url: str) -> SinkTask:
    return HttpSinkTask(HttpSinkConfig.parse({
        "http.api.url": f"{url}/in", "retry.backoff.ms": "0", "max.retries": "0", "headers": "X-Key: Kx7-9Qz",
        "http.request.timeout.ms": str(int(TIMEOUT_S * 1000)),
    }))  # fmt: skip


def search_task(url: str) -> SinkTask:
    timeout_ms = str(int(TIMEOUT_S * 1000))
    given = {"connection.url": url, "schema.ignore": "true", "read.timeout.ms": timeout_ms}
    return SearchSinkTask(SearchSinkConfig.parse({**given, "connection.username": "me", "connection.password": "Kx7"}))


def api_body(to: Handler, draw: random.Random) -> Any:
    return draw.choice([{}, {"echo": dict(to.headers)}, {"x": ANSI}, b"x" * (3 << 20)])


def search_body(to: Handler, draw: random.Random) -> Any:
    if to.path != "/_bulk":
        return draw.choice([{"orders": {"mappings": {}}}, {"orders": 5}, [], {"error": {"type": ANSI, "reason": [1]}}])
    ids = [json.loads(line)["index"]["_id"] for line in to.server.asked[-1][3].splitlines()[::2]]
    error = draw.choice([None, None, {"type": ANSI, "reason": "x" * 100_000}, 5, {"type": {}}, ANSI])
    return {"items": [{"index": {"_id": one, "status": 400 if error else 201, "error": error}} for one in ids]}


SINKS: dict[str, tuple[Callable[[str], SinkTask], Callable[[Handler, random.Random], Any]]] = {
    "API": (api_task, api_body), "search": (search_task, search_body),
}  # fmt: skip


def batch() -> Batch:
    consumed = Consumed(TP, pa.array(range(2), pa.int64()), 2)
    return Batch(
        "orders", Column.from_rows([{"a": 1}] * 2, None), Column.from_rows(["a", "b"], None), consumed=consumed
    )


def written(task: SinkTask) -> str:
    """Return what was said against the rows; empty: they are claimed to be written."""
    try:
        task.put(batch(), Deadline.after(20))
    except RejectedRowsError as refused:
        return max(map(str, [refused, *refused.rows.values()]), key=len)  # the task's tolerance decides of these rows
    except ConnectError as error:
        assert task.flush(Deadline.after(1)).get(TP) is None, "rows are claimed that were refused"
        return str(error)
    return "" if task.flush(Deadline.after(1)).get(TP) == 2 else "not claimed"


@pytest.mark.parametrize("seed", quick_first(1, of=6))
@pytest.mark.parametrize("sink", SINKS)
def test_whatever_is_answered_ends_and_leads_nowhere(sink: str, seed: int) -> None:
    draw = random.Random(seed)
    opened, bodies = SINKS[sink]
    for _ in range(LIES_OF_A_SEED):
        with ExitStack() as servers:
            other = servers.enter_context(hostile(say(b"")))
            lie = drawn_lie(draw, bodies, other.url)
            server = servers.enter_context(hostile(lie.answer))
            task = opened(server.url)
            task.open(FakeSinkContext())
            task.assigned([TP])
            servers.callback(task.close)
            began_s = time.monotonic()
            said = written(task)
            assert time.monotonic() - began_s < 4 * TIMEOUT_S + SLACK_S, lie.told
            assert said or lie.status < 300, f"a refusal counts as written: {lie.told}"
            assert len(said) < LONGEST_TEXT, lie.told
            assert other.asked == [], f"a request went elsewhere: {lie.told}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("sink", SINKS)
def test_rows_and_logins_follow_no_redirect(sink: str, status: int) -> None:
    opened, _ = SINKS[sink]
    with hostile(say({})) as other, hostile(say(b"", status, Location=f"{other.url}/x")) as server:
        task = opened(server.url)
        task.open(FakeSinkContext())
        task.assigned([TP])
        assert f"HTTP {status}" in written(task)
        assert server.asked
        assert other.asked == []
