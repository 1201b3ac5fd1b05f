"""Speaks the Storage Write API over gRPC: rows as Arrow batches or protobuf messages. The only module that speaks
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from connect.api.errors import ConnectError, RetriableError
from connectors.bigquery.dedup.sealed_batch import Refusals
from connectors.bigquery.rows.proto_rows import joined
from connectors.bigquery.rows.sizes import ROW_BYTES, parts, runs_without, too_large

if TYPE_CHECKING:
    import pyarrow as pa

_REQUEST_BYTES: Final = 7 * 1024 * 1024
"""The bytes of rows in a request, which takes 10 MB with all that is around them."""
_PASSING: Final = frozenset({"NOT_FOUND", "ABORTED", "CANCELLED", "INTERNAL"})
"""Errors with these codes pass: a new table or column is seen some seconds later, and Google ends old connections."""
_PASSING_ANSWERS: Final = _PASSING | {"RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED"}
"""An error in an answer to one request will pass if it has one of these codes."""
_NEW_COLUMN_TEXTS: Final = ("schema mismatch", "more fields than")
"""BigQuery's errors have these texts when the stream does not see a column yet."""
_Run = tuple[int, int]
"""A run is (first, end), and stands for the rows first..end-1 of one request."""


class Appended(NamedTuple):
    """Says that the rows first..end-1 are in the stream, or refused if there is an error."""

    first: int
    end: int
    error: Exception | None = None


class StorageWriter:
    """Writes to streams of the tables of one dataset. Used by several threads."""

    def __init__(self, client: Any, project: str, dataset: str, *, timeout_s: float) -> None:
        """Write by `client`, a google.cloud.bigquery_storage_v1.BigQueryWriteClient."""
        self._client = client
        self._parent = f"projects/{project}/datasets/{dataset}"
        self._timeout_s = timeout_s

    def append(self, table: str, rows: pa.Table) -> Refusals:
        """Add the rows by the default stream, wait for every acknowledgement, and return the refused rows.

        Raise RetriableError if perhaps only a part of the rows is there.
        """
        return self._append(table, rows, lambda part: _request(self._default(table), part))

    def append_messages(self, table: str, descriptor: Any, messages: pa.BinaryArray) -> Refusals:
        """Add rows as `append` does, given as protobuf messages of this DescriptorProto."""
        import pyarrow as pa

        def request(part: pa.Table) -> Any:
            return _message_request(self._default(table), descriptor, part["message"].combine_chunks())

        return self._append(table, pa.table([messages], ["message"]), request)

    def _default(self, table: str) -> str:
        return f"{self._parent}/tables/{table}/streams/_default"

    def _append(self, table: str, rows: pa.Table, request: Callable[[pa.Table], Any]) -> Refusals:
        """Send the rows in parts, each by one request, and again without refused rows. Return the refused rows."""
        refused = too_large(rows, ROW_BYTES)
        left = list(parts(rows, _REQUEST_BYTES, max(1, len(rows)), leave_out=refused))
        while left:
            again: list[_Run] = []
            requests = (request(rows.slice(first, end - first)) for first, end in left)
            answers = list(self._answers(table, requests))
            if len(answers) < len(left):
                raise RetriableError(f"BigQuery, appending to table {table}: the connection ended before its answers.")
            for (first, end), answer in zip(left, answers, strict=True):
                bad = _bad_rows(table, answer)
                refused |= {first + row: error for row, error in bad.items()}
                if bad:  # of such a request no row was added
                    again += runs_without(first, end, [first + row for row in bad])
            left = again
        return refused

    def create_stream(self, table: str) -> str:
        """Create a stream whose rows are in the table once they are acknowledged. Return its name."""
        from google.cloud.bigquery_storage_v1 import types

        stream = types.WriteStream(type_=types.WriteStream.Type.COMMITTED)
        with _translated(table):
            made = self._client.create_write_stream(
                parent=f"{self._parent}/tables/{table}", write_stream=stream, timeout=self._timeout_s
            )
        return str(made.name)

    def finalize(self, stream: str) -> None:
        """End a stream, so that it takes no more rows. Do nothing if it is gone."""
        from google.api_core.exceptions import InvalidArgument, NotFound

        table = stream.split("/")[-3]
        with _translated(table):
            try:
                self._client.finalize_write_stream(name=stream, timeout=self._timeout_s)
            except (NotFound, InvalidArgument):
                return

    def append_at(self, table: str, stream: str, rows: pa.Table, offset: int) -> Iterator[Appended]:
        """Add rows, in order, to a stream that has `offset` rows. Yield the outcome of each part once it is known.

        Raise RetriableError if the stream is ended, or if it is not known how many rows it has.
        """
        refused = too_large(rows, ROW_BYTES)
        yield from (Appended(row, row + 1, error) for row, error in refused.items())
        left = list(parts(rows, _REQUEST_BYTES, max(1, len(rows)), leave_out=refused))
        while left:
            offsets = accumulate((end - first for first, end in left), initial=offset)
            requests = (
                _request(stream, rows.slice(first, end - first), place)
                for (first, end), place in zip(left, offsets, strict=False)
            )
            again: list[_Run] = []
            for run, answer in zip_longest(left, self._answers(table, requests)):
                if again:  # behind a part that was refused nothing has its place
                    again.append(run)
                    continue
                bad = _bad_rows_at(table, answer)
                if bad:
                    yield from (Appended(run[0] + row, run[0] + row + 1, error) for row, error in bad.items())
                    again = runs_without(run[0], run[1], [run[0] + row for row in bad]) or [(run[1], run[1])]
                else:
                    yield Appended(*run)
                    offset += run[1] - run[0]
            left = [run for run in again if run[0] < run[1]]

    def close(self) -> None:
        """Close the channel."""
        self._client.transport.close()

    def _answers(self, table: str, requests: Iterator[Any]) -> Iterator[Any]:
        """Yield an answer per request, over one connection. The client's own retries would send only what is left."""
        with _translated(table):
            yield from self._client.append_rows(requests, retry=None, timeout=self._timeout_s)


def _request(stream: str, rows: pa.Table, offset: int | None = None) -> Any:
    from google.cloud.bigquery_storage_v1 import types

    batch = rows.combine_chunks().to_batches()[0]
    request = types.AppendRowsRequest(write_stream=stream)
    request.arrow_rows.writer_schema.serialized_schema = rows.schema.serialize().to_pybytes()
    request.arrow_rows.rows.serialized_record_batch = batch.serialize().to_pybytes()
    if offset is not None:
        request.offset = offset
    return request


def _message_request(stream: str, descriptor: Any, messages: pa.BinaryArray) -> Any:
    from google.cloud.bigquery_storage_v1 import types

    request = types.AppendRowsRequest(write_stream=stream)
    request.proto_rows.writer_schema.proto_descriptor = descriptor
    request.proto_rows.rows = types.ProtoRows.deserialize(joined(messages))
    return request


def _bad_rows_at(table: str, answer: Any) -> dict[int, Exception]:
    """Return the bad rows of a request to a stream at an offset.

    Raise RetriableError if the stream takes no rows at that offset.
    """
    if answer is None:
        raise RetriableError(f"BigQuery, appending to table {table}: the connection ended before its answers.")
    if answer.error.code and not answer.row_errors:
        # Ended by who owns the partition now, not known after a restart, or beyond what this life knows of
        # (ALREADY_EXISTS, OUT_OF_RANGE): a new stream goes on where the table's rows end.
        raise RetriableError(f"BigQuery, appending to table {table}: {answer.error.message}. A new stream goes on.")
    return _bad_rows(table, answer)


def _bad_rows(table: str, answer: Any) -> dict[int, Exception]:
    """Return the rows of a request that are bad.

    Raise RetriableError if the request was refused for now, as by a quota, and ConnectError for any other refusal.
    """
    from google.rpc.code_pb2 import Code

    bad: dict[int, Exception] = {
        error.index: ConnectError(f"Table {table} refused the row: {error.message}") for error in answer.row_errors
    }
    if answer.error.code and not bad:
        told = f"BigQuery refused rows of table {table}: {answer.error.message}"
        is_passing = answer.error.code in {Code.Value(name) for name in _PASSING_ANSWERS}
        raise RetriableError(told) if is_passing else ConnectError(told)
    return bad


@contextmanager
def _translated(table: str) -> Iterator[None]:
    """Translate the errors of a connection in the body into those of `connect.api.errors`."""
    from google.api_core.exceptions import GoogleAPICallError, RetryError, ServerError, TooManyRequests

    try:
        yield
    except (ServerError, TooManyRequests, RetryError) as error:
        raise RetriableError(f"BigQuery, appending to table {table}: {error.message}") from error
    except GoogleAPICallError as error:
        code = error.grpc_status_code.name if error.grpc_status_code is not None else ""
        if code in _PASSING or any(text in error.message.lower() for text in _NEW_COLUMN_TEXTS):
            raise RetriableError(f"BigQuery, appending to table {table}: {error.message}") from error
        raise ConnectError(f"BigQuery refused appending to table {table} ({code}): {error.message}") from error
