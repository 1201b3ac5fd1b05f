"""Random histories of the BigQuery sink before a model of the service: rows as promised, whatever dies or freezes."""

from random import Random

import pytest
from bigquery_history import BigQueryHistory
from histories import run_histories
from plain_bigquery import DATASET, PROJECT, PlainBigQuery

from connectors.bigquery import sink
from connectors.bigquery.merge import merge_line, merging
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse

STEPS = {True: 60, False: 150}
"""A history has this many steps: True is for the first seeds, which `make test` runs, False for drawn ones."""


@pytest.mark.thorough
@pytest.mark.histories
def test_the_sink_keeps_its_promises_in_random_histories(monkeypatch):
    clients = []
    monkeypatch.setattr(sink, "open_warehouse", lambda _: Warehouse(clients.pop(), PROJECT, DATASET, timeout_s=10))
    monkeypatch.setattr(merging, "_LOOK_S", 0.005)
    monkeypatch.setattr(merging, "_PATIENCE_S", 0.3)
    monkeypatch.setattr(merge_line, "_QUIET_S", 0.02)
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0005)
    monkeypatch.setattr(jobs, "_LAST_LOOK_S", 0.002)

    def one_history(history):
        run = BigQueryHistory(PlainBigQuery(Random(history.draw.random())), clients, history)
        try:
            run.run(STEPS[history.seed < 1000])
        finally:
            run.close()

    run_histories("bigquery", one_history, short=6)
