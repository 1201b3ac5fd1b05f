"""Runs a history of the BigQuery sink before the plain model of the service, with the sink's waits cut short."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

import pytest
from bigquery_history import BigQueryHistory
from histories import History
from plain_bigquery import DATASET, PROJECT, PlainBigQuery
from plain_bigquery_client import PlainClient

from connect.api.optional import topic_ids
from connectors.bigquery import sink
from connectors.bigquery.merge import merge_line, merge_writer
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse

STEPS: Final = {True: 60, False: 150}
"""A history has this many steps: True is for the first seeds, which `make test` runs, False for drawn ones."""


def one_history(monkeypatch: pytest.MonkeyPatch) -> Callable[[History], None]:
    """Return what runs one history."""
    clients: list[PlainClient] = []
    monkeypatch.setattr(sink, "open_warehouse", lambda _: Warehouse(clients.pop(), PROJECT, DATASET, timeout_s=10))
    monkeypatch.setattr(merge_writer, "_LOOK_S", 0.005)
    monkeypatch.setattr(merge_writer, "_PATIENCE_S", 0.3)
    monkeypatch.setattr(merge_line, "_QUIET_S", 0.02)
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0005)
    monkeypatch.setattr(jobs, "_LAST_LOOK_S", 0.002)
    monkeypatch.setattr(topic_ids, "_FRESH_S", 0.0)
    monkeypatch.setattr(topic_ids, "_LOOK_S", 0.0)

    def one(history: History) -> None:
        run = BigQueryHistory(PlainBigQuery(Random(history.draw.random())), clients, history)
        try:
            run.run(STEPS[history.seed < 1000])
        finally:
            run.close()

    return one
