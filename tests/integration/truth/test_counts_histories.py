"""Draws random histories: counts of rows, letters, lag and latencies are those of SQL and of the topics' offsets."""

import pytest
from counts_history import CountsHistory
from histories import run_histories

STEPS = {True: 10, False: 60}
"""A history has so many steps: True is for the first seeds, which `make test` runs, False for drawn ones."""


@pytest.mark.histories
@pytest.mark.integration
def test_figures_are_what_sql_and_offsets_count_in_random_histories(kafka, unique, tmp_path):
    def one_history(history):
        counts = CountsHistory(
            history, tmp_path / str(history.seed), kafka.bootstrap_servers, f"{unique}-{history.seed}"
        )
        try:
            counts.run(STEPS[history.seed < 1000])
        finally:
            counts.end()

    run_histories("counts", one_history, short=2)
