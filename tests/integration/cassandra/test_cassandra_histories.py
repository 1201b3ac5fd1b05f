"""Draws random histories of Cassandra's agent against a plain model: no change is lost or, in transactions, there
twice.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cassandra_agent import AgentProcess
from cassandra_history import ENDED, CassandraHistory
from cassandra_node import Node
from histories import History, run_histories

from connect.tools.services import KafkaEndpoint

ROUNDS = {True: 6, False: 20}
"""A history has this many rounds: True is for the first seeds, which `make test` runs, False for drawn ones."""


@pytest.mark.histories
def test_an_agent_keeps_its_promises_in_random_histories(
    cassandra_node: Node, kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    def one_history(history: History) -> None:
        once = history.draw.random() < 0.5
        keyspace = f"{unique}_{history.seed}"
        history.note("begin", once=once)
        folder = tmp_path / str(history.seed)
        folder.mkdir()
        agent = AgentProcess(
            folder, kafka, cassandra_node, keyspace, in_transactions=once, tables=f"{keyspace}.*"
        )  # fmt: skip
        told = CassandraHistory(history, cassandra_node, kafka, agent, keyspace)
        try:
            told.run(ROUNDS[history.seed < 1000])
            told.check(once=once)
        finally:
            assert agent.stop() in {*ENDED, None}, agent.log_tail()
            cassandra_node.run(f"DROP KEYSPACE {keyspace}")

    run_histories("cassandra", one_history, short=1)
