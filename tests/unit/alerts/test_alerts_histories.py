"""Draws random histories of alerts: each change is told once and in order, whoever leads and however the receiver
answers.
"""

from __future__ import annotations

import pytest
from alert_history import AlertHistory
from histories import History, run_histories

STEPS = 60


@pytest.mark.histories
def test_each_change_is_told_once_and_in_order_in_random_histories():
    def one_history(history: History) -> None:
        told = AlertHistory(history)
        try:
            told.run(STEPS)
        finally:
            told.close()

    run_histories("alerts", one_history, short=6)
