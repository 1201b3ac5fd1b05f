"""Checks the embedded node: it answers, keeps what was acknowledged when it is killed, and lets go of its folder."""

from __future__ import annotations

from cassandra.cluster import Cluster

from connect.tools.services.cassandra import CassandraService
from connect.tools.services.process.polling import poll_until


def test_a_killed_node_comes_back_with_what_it_acknowledged() -> None:
    with CassandraService() as service:
        folder = service.endpoint.cdc_raw_folder
        _run(service, "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        _run(service, "CREATE TABLE k.t (a int PRIMARY KEY) WITH cdc = true")
        _run(service, "INSERT INTO k.t (a) VALUES (1)")
        # A write is acknowledged before the log is synchronised, which is done ten times a second.
        poll_until(lambda: list(folder.glob("*_cdc.idx")) != [], deadline_s=30, waiting_for="the log", fix="")
        service.kill()
        service.start()
        assert _run(service, "SELECT a FROM k.t") == [(1,)]
        assert list(folder.glob("*_cdc.idx"))
    assert not folder.exists()


def _run(service: CassandraService, statement: str) -> list[tuple[int, ...]]:
    cluster = Cluster([service.endpoint.host], port=service.endpoint.port, connect_timeout=30)
    try:
        return [tuple(row) for row in cluster.connect().execute(statement, timeout=60)]
    finally:
        cluster.shutdown()
