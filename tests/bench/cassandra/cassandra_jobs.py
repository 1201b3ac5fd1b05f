"""Defines the peer of the Cassandra source: the driver's own scan of the same table, which throws its rows away."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from itertools import pairwise

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, ResultSet
from cassandra.query import tuple_factory

from tests.bench.measure import Figure, measure

RANGES, AT_A_TIME = 60, 8


def driver_scan(settings: Mapping[str, str]) -> Figure:
    """Ranges of tokens, as many of them at a time as a task reads, each row as a tuple of Python values."""
    profile = ExecutionProfile(row_factory=tuple_factory, request_timeout=60)
    cluster = Cluster(
        [settings["host"]], port=int(settings["port"]), execution_profiles={EXEC_PROFILE_DEFAULT: profile}
    )
    session = cluster.connect()
    session.default_fetch_size = 5000
    table, key = settings["table"], settings["partition_key"]
    query = session.prepare(f"SELECT * FROM {table} WHERE token({key}) > ? AND token({key}) <= ?")
    cuts = [-(2**63) + number * (2**64 // RANGES) for number in range(RANGES)] + [2**63 - 1]
    left = list(pairwise(cuts))
    counts: list[int] = []

    def read() -> None:
        while left:
            rows: ResultSet = session.execute(query, left.pop())
            counts.append(sum(1 for _ in rows))

    def work() -> int:
        threads = [threading.Thread(target=read) for _ in range(AT_A_TIME)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(counts)

    figure = measure(work)
    cluster.shutdown()
    return figure
