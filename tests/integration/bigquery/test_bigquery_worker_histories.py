"""Draws random histories of the BigQuery sink in a worker: tables and dead letters equal a model, and work goes on."""

from __future__ import annotations

from typing import Final

import pytest
from bigquery_write_shim import WriteShim
from e2e_worker import WorkerProcess
from histories import History, run_histories
from worker_history import Services, Size, WorkerHistory

SHORT: Final = Size(topics=(1,), rounds=(1, 1), records=(20, 40))
LONG: Final = Size(topics=(1, 1, 1, 2, 2, 2, 3, 3, 12, 40), rounds=(1, 3), records=(20, 60))


@pytest.mark.histories
def test_tables_equal_the_model_in_random_histories_of_a_worker(kafka, dataset, emulator, tmp_path, unique):
    def one_history(history: History) -> None:
        name = f"{unique}-{history.seed}"
        worker = WorkerProcess(tmp_path / name, kafka.bootstrap_servers, name)
        worker.start()
        try:
            with WriteShim(dataset.settings()["bigquery.storage.endpoint"], dataset.client) as shim:
                services = Services(kafka, dataset, emulator, worker, shim)
                WorkerHistory(services, history, name, SHORT if history.seed < 1000 else LONG).run()
        finally:
            worker.stop()

    run_histories("bigquery-worker", one_history, short=1)
