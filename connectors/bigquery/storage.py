"""The Storage Write API over gRPC: rows as Arrow record batches. The only module that speaks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import ConnectError, RetriableError

if TYPE_CHECKING:
    import pyarrow as pa

_REQUEST_BYTES: Final = 7 * 1024 * 1024
"""A request takes 10 MB, everything around the rows included."""
_PASSING: Final = frozenset({"NOT_FOUND", "ABORTED", "CANCELLED", "INTERNAL"})
"""Codes that pass: a table or column that was just made is seen some seconds later, and Google ends old connections."""


class StorageWriter:
    """The default streams of one dataset's tables. Used by several threads."""

    def __init__(self, client: Any, project: str, dataset: str, *, timeout_s: float) -> None:
        """`client`: a google.cloud.bigquery_storage_v1.BigQueryWriteClient."""
        self._client = client
        self._parent = f"projects/{project}/datasets/{dataset}"
        self._timeout_s = timeout_s

    def append(self, table: str, rows: pa.Table) -> None:
        """Add the rows and wait for every acknowledgement; a part may be there when it raises."""
        from google.api_core.exceptions import GoogleAPICallError, RetryError, ServerError, TooManyRequests

        where = f"table {table}"
        try:
            for answer in self._client.append_rows(self._requests(table, rows), timeout=self._timeout_s):
                if answer.error.code:
                    raise ConnectError(f"BigQuery refused rows of {where}: {answer.error.message}")
                if answer.row_errors:
                    first = answer.row_errors[0]
                    raise ConnectError(f"BigQuery refused row {first.index} of {where}: {first.message}")
        except (ServerError, TooManyRequests, RetryError) as error:
            raise RetriableError(f"BigQuery, appending to {where}: {error.message}") from error
        except GoogleAPICallError as error:
            code = error.grpc_status_code.name if error.grpc_status_code is not None else ""
            if code in _PASSING or "schema mismatch" in error.message.lower():
                raise RetriableError(f"BigQuery, appending to {where}: {error.message}") from error
            raise ConnectError(f"BigQuery refused appending to {where} ({code}): {error.message}") from error

    def close(self) -> None:
        """Close the channel."""
        self._client.transport.close()

    def _requests(self, table: str, rows: pa.Table) -> Iterator[Any]:
        from google.cloud.bigquery_storage_v1 import types

        per_row = max(1, rows.nbytes // max(1, len(rows)))
        schema = rows.schema.serialize().to_pybytes()
        for batch in rows.combine_chunks().to_batches(max_chunksize=max(1, _REQUEST_BYTES // per_row)):
            request = types.AppendRowsRequest(write_stream=f"{self._parent}/tables/{table}/streams/_default")
            request.arrow_rows.writer_schema.serialized_schema = schema
            request.arrow_rows.rows.serialized_record_batch = batch.serialize().to_pybytes()
            yield request
