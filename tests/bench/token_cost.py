"""Measures what logging in by a token adds to a request, and what a worker spends until it is ready: CPU of its own
process.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import requests

from connect.tools.services.java_connect import InternalTopics, JavaConnectEndpoint
from connect.tools.services.kafka import KafkaEndpoint
from tests.bench.cluster.cluster_workers import WAIT_S, OurConnectService
from tests.bench.page_cost import Cost, cpu_s, listener, wait_until_ready
from tests.oidc_issuer import AUDIENCE, Issuer

CALLS, START_S, TOKEN_MS = 500, 3.0, 1.0


class GuardedWorker(OurConnectService):
    """A worker with further settings, which may ask for a login."""

    def __init__(self, kafka: KafkaEndpoint, settings: Mapping[str, str]) -> None:
        name = f"tokens-{uuid.uuid4().hex[:6]}"
        topics = InternalTopics(f"{name}-configs", f"{name}-offsets", f"{name}-status")
        super().__init__(kafka.bootstrap_servers, group_id=name, topics=topics)
        self._properties |= settings

    def _answers(self, endpoint: JavaConnectEndpoint, timeout_s: float) -> bool:
        try:
            return requests.get(f"{endpoint.url}/health", timeout=timeout_s).ok
        except requests.RequestException:  # still starting
            return False


def token_costs(kafka: KafkaEndpoint) -> Iterator[Cost]:
    """Yield the CPU of a start, and what a known token and a new one add to a request, beside one without a login."""
    with GuardedWorker(kafka, {}) as open_to_all:
        url = open_to_all.endpoint.url
        wait_until_ready(url)
        worker = psutil.Process(listener(url))
        yield Cost("a worker until it is ready, without its group process", cpu_s(worker), "CPU s", START_S)
        plain_ms = _request_ms(worker, url, [""] * CALLS)
        yield Cost("a request without a login", plain_ms, "CPU ms", 100.0)
    with tempfile.TemporaryDirectory() as name:
        issuer = Issuer(Path(name))
        issuer.start()
        try:
            guards = {"rest.oidc.issuer": issuer.url, "rest.oidc.audience": AUDIENCE, "rest.roles.viewer": "oidc:ada"}
            with GuardedWorker(kafka, guards) as guarded:
                url = guarded.endpoint.url
                wait_until_ready(url)
                worker = psutil.Process(listener(url))
                for what, tokens in (
                    ("a token that is known adds", [issuer.token()] * CALLS),
                    ("a new token adds", [issuer.token(jti=str(number)) for number in range(CALLS)]),
                ):
                    yield Cost(what, _request_ms(worker, url, tokens) - plain_ms, "CPU ms", TOKEN_MS)
        finally:
            issuer.stop()


def _request_ms(worker: psutil.Process, url: str, tokens: list[str]) -> float:
    """Return the CPU time of the worker for one of so many requests over one connection."""
    with requests.Session() as session:
        for token in tokens[:20]:
            _ask(session, url, token)
        spent_s = cpu_s(worker)
        for token in tokens:
            _ask(session, url, token)
        return (cpu_s(worker) - spent_s) * 1000 / len(tokens)


def _ask(session: requests.Session, url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    session.get(f"{url}/connectors", headers=headers, timeout=WAIT_S).raise_for_status()
