"""Runs a BigQueryWrite service before the emulator's. It loses replies, refuses rows, and applies changes to tables.

The emulator does not know `_CHANGE_TYPE`. Here rows with it are upserts and deletes by the table's primary key, in the
order of `_CHANGE_SEQUENCE_NUMBER`, under the rules of Google's documentation: the default stream, protobuf, the whole
primary key in each row, sections of at most 16 hexadecimal digits. Everything else goes to the emulator unchanged.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import grpc
import pyarrow as pa
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import bigquery
from google.cloud.bigquery_storage_v1 import BigQueryWriteClient, types
from google.cloud.bigquery_storage_v1.services.big_query_write.transports import BigQueryWriteGrpcTransport
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

SERVICE = "google.cloud.bigquery.storage.v1.BigQueryWrite"
CHANGE_TYPE, SEQUENCE = "_CHANGE_TYPE", "_CHANGE_SEQUENCE_NUMBER"
_SEQUENCE_FORM = re.compile(r"[0-9a-fA-F]{1,16}(/[0-9a-fA-F]{1,16}){0,3}")
_STREAMS = {
    "CreateWriteStream": (types.CreateWriteStreamRequest, types.WriteStream, "create_write_stream"),
    "FinalizeWriteStream": (
        types.FinalizeWriteStreamRequest, types.FinalizeWriteStreamResponse, "finalize_write_stream",
    ),
}  # fmt: skip


@dataclass
class AppendFault:
    """Ends `times` appends, after the first `after`, with this code; with `lost` their rows are written before that."""

    code: grpc.StatusCode
    lost: bool = False
    times: int = 1
    after: int = 0
    message: str = "says the shim"


class RefusedError(Exception):
    """Says that a request as a whole is invalid."""


class WriteShim:
    """Runs from entry to exit. A row with the text `refuses` is invalid. `appends` counts the appends that came."""

    def __init__(self, storage: str, client: bigquery.Client, *, refuses: str = "\0never") -> None:
        self._upstream: Any = BigQueryWriteClient(
            transport=BigQueryWriteGrpcTransport(channel=grpc.insecure_channel(storage))  # type: ignore[no-untyped-call]
        )
        self._client = client
        self._refuses = refuses.encode()
        self._lock = threading.Lock()
        self._rests, self._at_work = threading.Condition(), 0
        self._sequences: dict[tuple[str, tuple[Any, ...]], tuple[int, ...]] = {}
        self.faults: list[AppendFault] = []
        self.appends = 0
        self.streams: list[str] = []
        self._server = grpc.server(ThreadPoolExecutor(8))
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(self._unary(call), kind.deserialize, answer.serialize)
            for name, (kind, answer, call) in _STREAMS.items()
        }
        handlers["AppendRows"] = grpc.stream_stream_rpc_method_handler(
            self._append_rows, types.AppendRowsRequest.deserialize, types.AppendRowsResponse.serialize
        )
        self._server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
        self.endpoint = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop(None).wait()
        self._upstream.transport.close()

    def _unary(self, call: str) -> Any:
        def answer(request: Any, context: grpc.ServicerContext) -> Any:
            try:
                found = getattr(self._upstream, call)(request, retry=None, timeout=30)
            except GoogleAPICallError as error:
                context.abort(error.grpc_status_code, error.message)
            if call == "create_write_stream":
                self.streams.append(found.name)
            return found

        return answer

    def _append_rows(
        self, requests: Iterator[types.AppendRowsRequest], context: grpc.ServicerContext
    ) -> Iterator[types.AppendRowsResponse]:
        first: types.AppendRowsRequest | None = None
        for request in requests:
            first = first or request
            _complete(request, first)
            fault = self._fault()
            if fault is not None and not fault.lost:
                context.abort(fault.code, f"{fault.code.name}: {fault.message}")
            try:
                with self._under_way(), self._lock:
                    answer = self._append(request)
            except GoogleAPICallError as error:
                context.abort(error.grpc_status_code, error.message)
            except RefusedError as error:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            if fault is not None:
                context.abort(fault.code, "the reply was lost")
            yield answer

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        with self._rests:
            self._at_work += 1
        try:
            yield
        finally:
            with self._rests:
                self._at_work -= 1
                self._rests.notify_all()

    def wait_until_it_rests(self, timeout_s: float) -> None:
        """Wait for appends whose clients have given up: until they end, readers may lack a row that is changed."""
        with self._rests:
            rests = self._rests.wait_for(lambda: not self._at_work, timeout_s)
            assert rests, f"{self._at_work} appends do not end"

    def _fault(self) -> AppendFault | None:
        with self._lock:
            self.appends += 1
            for fault in self.faults:
                if fault.after:
                    fault.after -= 1
                elif fault.times:
                    fault.times -= 1
                    return fault
        return None

    def _append(self, request: types.AppendRowsRequest) -> types.AppendRowsResponse:
        bad = [row for row, content in enumerate(_contents(request)) if self._refuses in content]
        if bad:
            errors = [
                types.RowError(index=row, code=types.RowError.RowErrorCode.FIELDS_ERROR, message="refused by the shim")
                for row in bad
            ]
            return types.AppendRowsResponse(
                error={"code": grpc.StatusCode.INVALID_ARGUMENT.value[0], "message": "Errors found in rows"},
                row_errors=errors,
            )
        descriptor = request.proto_rows.writer_schema.proto_descriptor
        if any(field.name == CHANGE_TYPE for field in descriptor.field):
            self._change(request, descriptor)
            return types.AppendRowsResponse(append_result={})
        return next(iter(self._upstream.append_rows(iter([request]), timeout=30)))

    def _change(self, request: types.AppendRowsRequest, descriptor: descriptor_pb2.DescriptorProto) -> None:
        """Apply upserts and deletes: the row with the largest sequence number of a key stays, whenever it came."""
        stream = request.write_stream
        if not stream.endswith("/_default"):
            raise RefusedError("Change data capture takes the default stream only.")
        table = self._client.get_table(".".join(stream.split("/")[1:6:2]))
        keys = _primary_key(table)
        message = _message_class(descriptor)
        upserts: dict[tuple[Any, ...], bytes] = {}
        gone: set[tuple[Any, ...]] = set()
        for content in request.proto_rows.rows.serialized_rows:
            row = message.FromString(content)
            kind, sequence = getattr(row, CHANGE_TYPE), getattr(row, SEQUENCE)
            if kind not in {"UPSERT", "DELETE"} or not _SEQUENCE_FORM.fullmatch(sequence):
                raise RefusedError(f"Invalid change {kind!r} with sequence number {sequence!r}.")
            if any(not row.HasField(name) for name in keys):
                raise RefusedError(f"A change needs the whole primary key {keys}.")
            key = tuple(getattr(row, name) for name in keys)
            order = tuple(int(section, 16) for section in sequence.split("/"))
            if order < self._sequences.get((str(table.reference), key), ()):
                continue
            self._sequences[str(table.reference), key] = order
            upserts.pop(key, None)
            gone.add(key)
            if kind == "UPSERT":
                upserts[key] = content
        self._replace(request, table, keys, gone, list(upserts.values()))

    def _replace(
        self,
        request: types.AppendRowsRequest,
        table: Any,
        keys: list[str],
        gone: set[tuple[Any, ...]],
        rows: list[bytes],
    ) -> None:
        if gone:
            texts = ", ".join(f"({', '.join(map(_sql, key))})" for key in gone)
            where = f"({', '.join(keys)}) IN ({texts})" if len(keys) > 1 else f"{keys[0]} IN ({texts})"
            self._client.query(f"DELETE FROM `{table.dataset_id}`.`{table.table_id}` WHERE {where}").result()
        if rows:
            plain = types.AppendRowsRequest(write_stream=request.write_stream)
            plain.proto_rows.writer_schema.proto_descriptor = request.proto_rows.writer_schema.proto_descriptor
            fields = plain.proto_rows.writer_schema.proto_descriptor.field
            for field in [field for field in fields if field.name in {CHANGE_TYPE, SEQUENCE}]:
                fields.remove(field)
            plain.proto_rows.rows.serialized_rows = rows
            answer = next(iter(self._upstream.append_rows(iter([plain]), timeout=30)))
            assert not answer.error.code, answer


def _complete(request: types.AppendRowsRequest, first: types.AppendRowsRequest) -> None:
    """Add stream and schema to a request, as only the first request of a connection has them."""
    request.write_stream = request.write_stream or first.write_stream
    if "arrow_rows" in request and not request.arrow_rows.writer_schema.serialized_schema:
        request.arrow_rows.writer_schema = first.arrow_rows.writer_schema
    if "proto_rows" in request and not request.proto_rows.writer_schema.proto_descriptor.name:
        request.proto_rows.writer_schema = first.proto_rows.writer_schema


def _contents(request: types.AppendRowsRequest) -> list[bytes]:
    """Return for each row some bytes that contain its texts."""
    if "proto_rows" in request:
        return list(request.proto_rows.rows.serialized_rows)
    schema = pa.ipc.read_schema(pa.py_buffer(request.arrow_rows.writer_schema.serialized_schema))
    content = pa.py_buffer(request.arrow_rows.rows.serialized_record_batch)
    return [str(row).encode() for row in pa.ipc.read_record_batch(content, schema).to_pylist()]


def _primary_key(table: Any) -> list[str]:
    constraints = table.table_constraints
    if constraints is None or constraints.primary_key is None:
        raise RefusedError(f"Table {table.reference} has no primary key.")
    return list(constraints.primary_key.columns)


def _message_class(proto: descriptor_pb2.DescriptorProto) -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="rows.proto", package="rows", syntax="proto2")
    file.message_type.add().CopyFrom(proto)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)  # type: ignore[no-untyped-call]
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"rows.{proto.name}"))  # type: ignore[no-untyped-call]


def _sql(value: Any) -> str:
    return "'" + value.replace("'", "\\'") + "'" if isinstance(value, str) else str(value)
