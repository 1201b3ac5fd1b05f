"""Draws random histories of the S3 sink: each row is there once and as it was sent, whatever dies, freezes, fails or is
read again.
"""

import sys

import pytest
from histories import run_histories
from s3_history import MortalBucket, S3History
from s3_http_store import Store, served

from connectors.s3.sink import sink

ROWS = {True: 150, False: 500}
"""Of a partition: of the first seeds, which `make test` runs, and of drawn ones."""


class HistoryStore(Store):
    """Callers that died take no answers."""

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@pytest.mark.thorough
@pytest.mark.histories
def test_the_sink_keeps_its_promises_in_random_histories(monkeypatch):
    monkeypatch.setattr(sink, "Bucket", MortalBucket)

    def one_history(history):
        with served(HistoryStore()) as store:
            S3History(store, history, ROWS[history.seed < 1000]).run(60)

    run_histories("s3", one_history, short=9)
