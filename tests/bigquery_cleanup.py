"""Removes what tests made in an emulated BigQuery."""

from __future__ import annotations

from google.api_core.exceptions import BadRequest, ServerError
from google.api_core.retry import Retry, if_exception_type
from google.cloud import bigquery

_AGAIN = Retry(predicate=if_exception_type(BadRequest, ServerError, ConnectionError), initial=0.1, timeout=60)
"""The emulator refuses to drop a dataset (400) while a statement still writes into it, even if its client is gone."""


def drop_dataset(client: bigquery.Client, name: str) -> None:
    """Delete a dataset with its tables. This saves time, as the emulator searches all tables that exist for any
    request.
    """
    client.delete_dataset(name, delete_contents=True, retry=_AGAIN, timeout=30, not_found_ok=True)
