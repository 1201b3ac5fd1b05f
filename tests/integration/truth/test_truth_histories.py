"""Draws random histories: screens, REST, commands, metrics and live pages all say what is true, and the same."""

import pytest
from histories import run_histories
from truth_history import TruthHistory

STEPS = {True: 8, False: 40}
"""A history has so many steps: True is for the first seeds, which `make test` runs, False for drawn ones."""


@pytest.mark.histories
@pytest.mark.integration
def test_every_surface_tells_the_truth_in_random_histories(kafka, unique, tmp_path):
    def one_history(history):
        truth = TruthHistory(history, tmp_path / str(history.seed), kafka.bootstrap_servers, f"{unique}-{history.seed}")
        try:
            truth.run(STEPS[history.seed < 1000])
        finally:
            truth.end()

    run_histories("truth", one_history, short=2)
