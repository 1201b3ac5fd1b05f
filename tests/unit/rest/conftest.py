"""Provides a real HTTP server over a cluster in memory."""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cluster_validation"))  # sample_plugins

from apart_trials import ApartTrials, answer_of_host
from memory_cluster import Cluster, MemoryOperations
from rest_client import Rest, ServerMaker
from sample_plugins import catalog, worker_config

from connect.plugins.catalog import Catalog
from connect.rest.app import admin_app, rest_app
from connect.rest.rest_server import HttpThread
from connect.rest.server.context import RestContext
from connect.rest.server.listeners import bind


@pytest.fixture
def serve() -> Iterator[ServerMaker]:
    """Starts servers: `serve(operations, worker={…}, check_timeout_s=…)`."""
    servers, bounds = [], []

    def start(
        operations: MemoryOperations | None = None,
        worker: dict[str, str] | None = None,
        plugins: Catalog | None = None,
        **more: Any,
    ) -> Rest:
        settings = worker_config(**{"listeners": "http://127.0.0.1:0", **(worker or {})})
        bound = bind(settings)
        bounds.append(bound)
        operations = operations or MemoryOperations()
        context = RestContext(operations, plugins or catalog(), settings, worker_id=bound.worker_id, **more)
        server = HttpThread(rest_app(context), bound, admin_app(context) if bound.admin else None)
        server.start()
        servers.append(server)
        rest = Rest(operations, server.url)
        rest.admin_url = "".join(f"http://127.0.0.1:{listener.port}" for listener in bound.admin or ())
        return rest

    yield start
    for server in servers:
        server.stop()
        assert not asyncio.all_tasks(server._loop), "A task outlives its server, and is logged in a later test."
    for bound in bounds:
        bound.close()


@pytest.fixture
def rest(serve: ServerMaker) -> Rest:
    """One worker that leads."""
    return serve()


@pytest.fixture
def two(serve: ServerMaker) -> tuple[Rest, Rest]:
    """A leader and a follower of one cluster."""
    cluster = Cluster()
    leader = serve(MemoryOperations(cluster))
    follower = serve(MemoryOperations(cluster, leads=False))
    cluster.leader_url = leader.url
    return leader, follower


@pytest.fixture(scope="session")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as made:
        made.submit(answer_of_host, {"connector.class": "FileStreamSource"}).result(120)
        yield made


@pytest.fixture
def hosted(pool: ProcessPoolExecutor) -> MemoryOperations:
    """A cluster whose configurations are judged by another process, with all plug-ins."""
    operations = MemoryOperations()
    operations.trials = ApartTrials(operations, pool)
    return operations
