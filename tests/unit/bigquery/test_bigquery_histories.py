"""Draws random histories of the BigQuery sink before a model of the service: rows are as promised, whatever dies or
freezes.
"""

import pytest
from bigquery_history_run import one_history
from histories import run_histories


@pytest.mark.thorough
@pytest.mark.histories
def test_the_sink_keeps_its_promises_in_random_histories(monkeypatch):
    run_histories("bigquery", one_history(monkeypatch), short=6)
