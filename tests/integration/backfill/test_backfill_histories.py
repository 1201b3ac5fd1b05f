"""Runs random histories of a backfill and its connector against a plain model: each row comes once, whatever is
killed.
"""

import shutil
from contextlib import contextmanager

import pytest
from backfill_bed import bed
from backfill_history import BackfillHistory
from histories import FOLDER, run_histories


@contextmanager
def logs_kept(one, history):
    """Copy what the commands and the worker said to where a history that fails is saved."""
    try:
        yield
    except BaseException:
        kept = FOLDER / f"{history.part}-{history.seed}-logs"
        kept.mkdir(parents=True, exist_ok=True)
        for log in (one.log, one.worker_log):
            if log.exists():
                shutil.copy(log, kept)
        raise


@pytest.mark.histories
def test_a_backfill_keeps_its_promises_in_random_histories(tmp_path):
    with bed(tmp_path) as its_bed:

        def one_history(history):
            one = BackfillHistory(its_bed, history)
            with logs_kept(one, history):
                one.run(is_short=history.seed < 1000)

        run_histories("backfill", one_history, short=1)
