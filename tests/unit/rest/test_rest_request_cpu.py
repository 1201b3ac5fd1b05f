"""What the worker's own process computes for a request is little, whatever a client has sent: others are answered.

CPU time of this process is measured, which serves REST as a worker does; task hosts are processes of their own.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hostile_requests import TOKEN, Request, requests
from memory_cluster import MemoryOperations
from rest_client import Rest, ServerMaker

from connect.plugins.catalog import Catalog
from tests.histories import History, run_histories

STEPS = 40
TRIES = 3
MOST_UNITS = 5.0


@pytest.fixture
def rest(serve: ServerMaker, hosted: MemoryOperations, tmp_path: Path) -> Rest:
    served = serve(hosted, {"allowed.paths": str(tmp_path)}, Catalog.installed(), check_timeout_s=60)
    served.session.cookies.set("connect-ui", TOKEN)
    served.create("stored")
    assert served("PUT", "/connectors/stored/stop").status_code == 204
    return served


def unit_s() -> float:
    """CPU time of a fixed work here and now: 65 ms where nobody else computes."""
    began_s, total = time.thread_time(), 0
    for number in range(2_000_000):
        total += number
    return time.thread_time() - began_s


def cost_s(rest: Rest, request: Request) -> float:
    """CPU time of this process for a request."""
    kind = "application/x-www-form-urlencoded" if request.is_form else "application/json"
    headers = {"Content-Type": kind, **({"Origin": rest.url} if request.is_form else {})}
    began_s = time.process_time()
    answer = rest(request.method, request.path, data=request.body, headers=headers)
    spent_s = time.process_time() - began_s
    assert answer.status_code < 502, answer.text[:500]
    return spent_s


def one_history(history: History, rest: Rest) -> None:
    """Send requests, and look what they cost; what costs much at first, as modules are loaded, is sent again."""
    for _, request in zip(range(STEPS), requests(history.draw, Catalog.installed()), strict=False):
        history.note("send", said=request.said, method=request.method, path=request.path)
        spent, most_s = [], MOST_UNITS * unit_s()
        while (not spent or spent[-1] > most_s) and len(spent) < TRIES:
            spent.append(cost_s(rest, request))
        assert min(spent) < most_s, (
            f"{min(spent):.2f} s of CPU, {min(spent) / most_s * MOST_UNITS:.1f} units: {request.said}"
        )


@pytest.mark.histories
def test_requests_cost_the_worker_little(rest: Rest) -> None:
    run_histories("request-cpu", lambda history: one_history(history, rest), short=2)
