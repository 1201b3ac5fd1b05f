"""Reads the metrics of all workers of a cluster."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient
    from connect.client.task_lines import Scrape


def scraped(client: ConnectClient) -> Scrape:
    """Return the figures of all workers that run tasks; those of a worker that tells none are left out."""
    from connect.api.errors import ConnectError
    from connect.client.rest import RefusedError
    from connect.client.task_lines import Scrape, figures_of, workers_of

    figures: dict[tuple[str, str], dict[str, float]] = {}
    # First the one that is asked: its own address may be one that is not known here.
    for worker in ["", *workers_of(client.connectors())]:
        try:
            figures |= figures_of(client.metrics(worker))
        except RefusedError as error:
            # A Java worker has no metrics; one of another host is not told who asks.
            if error.status != HTTPStatus.NOT_FOUND and not (worker and error.status == HTTPStatus.UNAUTHORIZED):
                raise
        except ConnectError:
            if not worker:
                raise
            # One that cannot be reached from here: its tasks are shown without figures.
    return Scrape(time.monotonic(), figures)
