"""Draws random histories of a cluster against a plain model: changes survive, no task runs twice, no row is lost."""

import shutil
from contextlib import contextmanager

import pytest
from cluster_bed import bed
from cluster_history import ClusterHistory
from histories import FOLDER, run_histories

WORKERS = 3
ROUNDS = {True: 5, False: 14}
"""A history has this many rounds: True is for the first seeds, which `make test` runs, False for drawn ones."""


@contextmanager
def logs_kept(bed, history):
    """Copy the workers' logs to where a history that fails is saved."""
    try:
        yield
    except BaseException:
        kept = FOLDER / f"{history.part}-{history.seed}-logs"
        kept.mkdir(parents=True, exist_ok=True)
        for log in bed.folder.glob("*.log"):
            shutil.copy(log, kept)
        raise


@pytest.mark.histories
def test_a_cluster_keeps_its_promises_in_random_histories(tmp_path):
    def one_history(history):
        with bed(tmp_path / str(history.seed), WORKERS) as its_bed, logs_kept(its_bed, history):
            ClusterHistory(its_bed, history).run(ROUNDS[history.seed < 1000])

    run_histories("cluster", one_history, short=1)
