"""Hands Arrow columns to librdkafka without a Python object per row.

Native code hands over pointers to the rows (`connect.native.RowSender`). Without it, and for rows with timestamps or
headers of their own, message arrays are filled by NumPy, and librdkafka copies every row (RD_KAFKA_MSG_F_COPY).

Source: rd_kafka_message_t and rd_kafka_vu_t in rdkafka.h 2.16.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from confluent_kafka import KafkaError

from connect.kafka.client.librdkafka import error, library, raise_error
from connect.kafka.produce.added_partitions import UNKNOWN_PARTITION, may_be_there_for
from connect.kafka.produce.native_producer import NativeProducer
from connect.kafka.produce.receipt import Receipt, Undelivered
from connect.kafka.raw import RawBatch, RawHeaders, SharedHeaders, sent_times

if TYPE_CHECKING:
    import pyarrow as pa

    from connect.native import RowSender

Words = npt.NDArray[np.uint64]

_ANY_PARTITION: Final = -1
_COPY: Final = 0x2
_CHUNK: Final = 16_384
"""One call hands over at most so many rows; their message array has 1.2 MB."""

_MESSAGE: Final = np.dtype({
    "names": ["err", "payload", "len", "key", "key_len", "opaque"],
    "formats": [np.int32, np.uint64, np.uint64, np.uint64, np.uint64, np.uint64],
    "offsets": [0, 24, 32, 40, 48, 64],
    "itemsize": 72,
})  # fmt: skip

_FIELD: Final = np.dtype({
    "names": ["kind", "a", "b", "c"],
    "formats": [np.int32, np.uint64, np.uint64, np.uint64],
    "offsets": [0, 8, 16, 24],
    "itemsize": 72,
})  # fmt: skip
"""This type is rd_kafka_vu_t, one argument of rd_kafka_produceva."""
_TOPIC, _PARTITION, _VALUE, _KEY, _OPAQUE, _FLAGS, _TIMESTAMP, _HEADER = 2, 3, 4, 5, 6, 7, 8, 9
_ROW_FIELDS: Final = np.array([_TOPIC, _PARTITION, _VALUE, _KEY, _FLAGS, _TIMESTAMP, _OPAQUE], np.int32)

_NOTHING: Final = ctypes.create_string_buffer(1)
"""An empty value points here, as a null pointer would make it a tombstone."""
_EMPTY: Final = ctypes.addressof(_NOTHING)


class ColumnarPath:
    """Sends columns by native code, see `ProducerPath`."""

    def __init__(self, settings: Mapping[str, str | int | float | bool]) -> None:
        self._lib = library()
        self._native = NativeProducer(settings)

    def enqueue(self, batch: RawBatch, start: int, receipt: Receipt) -> int:
        """Queue rows from `start` on."""
        plain = batch.headers is None and batch.timestamps_ms is None
        alike = isinstance(batch.headers, SharedHeaders) and batch.timestamps_ms is None
        if self._native.rows is not None and (plain or alike):
            return self._enqueue_native(self._native.rows, batch, start, receipt)
        call = self._enqueue_plain if plain else self._enqueue_full
        done = start
        while done < len(batch):
            chunk = batch.slice(done, done + _CHUNK)
            receipt.expect()
            queued = self._native.copied.queue(len(chunk), partial(call, chunk), receipt.acknowledge)
            done += queued
            if queued < len(chunk):
                break
        return done - start

    def prepare(self) -> None:
        """See `ProducerPath`."""
        self._native.prepare()

    def poll(self) -> None:
        """See `ProducerPath`."""
        while self._native.serve():
            pass
        if self._native.rows is not None:
            self._native.rows.settle()

    def drain(self, rows: int, timeout_s: float) -> None:
        """See `ProducerPath`."""
        self._native.drain(rows, timeout_s)

    def failure(self) -> Undelivered | None:
        """Return the first row that was not delivered; None as long as there is none."""
        return self._native.failure

    def fatal(self) -> KafkaError | None:
        """Return the fatal error that librdkafka reported; None as long as there is none."""
        return self._native.fatal()

    def outstanding(self) -> int:
        """Return the number of rows in librdkafka's queues."""
        return self._native.outstanding()

    def purge(self) -> None:
        """Drop queued rows and those on the way."""
        self._native.purge()

    def init_transactions(self, timeout_s: float) -> None:
        """See `ProducerPath`."""
        self._native.init_transactions(timeout_s)

    def begin_transaction(self) -> None:
        """See `ProducerPath`."""
        self._native.begin_transaction()

    def commit_transaction(self, timeout_s: float) -> None:
        """See `ProducerPath`."""
        self._native.commit_transaction(timeout_s)

    def abort_transaction(self, timeout_s: float) -> None:
        """See `ProducerPath`. librdkafka's abort waits until what it dropped was served, but serves none itself."""
        self._native.purge(queued_only=True)
        self._native.drain(0, timeout_s / 2)
        self._native.abort_transaction(timeout_s)
        self.poll()
        self._native.failure = None

    def close(self) -> None:
        """Free the client."""
        self._native.close()

    def _enqueue_native(self, rows: RowSender, batch: RawBatch, start: int, receipt: Receipt) -> int:
        values = _byte_strings(batch.values)
        keys = None if batch.keys is None else _byte_strings(batch.keys)
        partition = _ANY_PARTITION if batch.partition is None else batch.partition
        topic = self._native.topic(batch.topic)
        headers = batch.headers.headers if isinstance(batch.headers, SharedHeaders) else None
        receipt.expect()
        taken, refusal = rows.send(
            topic, partition, values, keys, headers, start=start, on_acknowledged=receipt.acknowledge
        )
        if refusal:
            self._raise_unless_later(refusal, batch, taken)
            if refusal == UNKNOWN_PARTITION:
                receipt.acknowledge()  # no row of this part is on its way
        return taken

    def _enqueue_plain(self, batch: RawBatch, opaque: int) -> int:
        messages = np.zeros(len(batch), _MESSAGE)
        messages["opaque"] = opaque
        messages["payload"], messages["len"] = _places(batch.values)
        if batch.keys is not None:
            messages["key"], messages["key_len"] = _places(batch.keys)
        partition = _ANY_PARTITION if batch.partition is None else batch.partition
        topic = self._native.topic(batch.topic)
        taken = self._lib.rd_kafka_produce_batch(topic, partition, _COPY, messages.ctypes.data, len(batch))
        if taken == len(batch):
            return len(batch)
        first = int(np.flatnonzero(messages["err"])[0])
        self._raise_unless_later(int(messages["err"][first]), batch, first)
        return first  # Every row behind the first one is refused, too.

    def _enqueue_full(self, batch: RawBatch, opaque: int) -> int:
        """Queue rows with timestamps or headers, which batches of messages cannot carry: one call per row."""
        taken = self._produce_rows(batch, opaque)
        if self._native.rows is not None and taken:
            self._native.rows.queued(batch.slice(0, taken).size_bytes)
        return taken

    def _produce_rows(self, batch: RawBatch, opaque: int) -> int:
        fields, starts, _keep = self._fields(batch, opaque)
        produce, client = self._lib.rd_kafka_produceva, self._native.handle
        base, size = fields.ctypes.data, _FIELD.itemsize
        addresses, counts = (base + starts[:-1] * size).tolist(), np.diff(starts).tolist()
        for row, (address, count) in enumerate(zip(addresses, counts, strict=True)):
            failed = produce(client, address, count)
            if failed:
                if not self._is_for_later(self._lib.rd_kafka_error_code(failed), batch, row):
                    raise_error(failed)
                self._lib.rd_kafka_error_destroy(failed)
                return row
        return len(batch)

    def _fields(self, batch: RawBatch, opaque: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], object]:
        """Return all rows' arguments, where each row's begin, and an object that must live as long as they do."""
        rows, own = len(batch), len(_ROW_FIELDS)
        headers = batch.headers if batch.headers is not None else [()] * rows
        starts = np.zeros(rows + 1, np.int64)
        np.cumsum(np.fromiter(map(len, headers), np.int64, rows) + own, out=starts[1:])
        fields = np.zeros(int(starts[-1]), _FIELD)
        mine = starts[:-1, None] + np.arange(own)
        fields["kind"][mine] = _ROW_FIELDS
        fields["a"][mine[:, 0]] = self._native.topic(batch.topic)
        partition = _ANY_PARTITION if batch.partition is None else batch.partition
        fields["a"][mine[:, 1]] = np.array(partition, np.int64).view(np.uint64)
        fields["a"][mine[:, 2]], fields["b"][mine[:, 2]] = _places(batch.values)
        if batch.keys is not None:
            fields["a"][mine[:, 3]], fields["b"][mine[:, 3]] = _places(batch.keys)
        fields["a"][mine[:, 4]] = _COPY
        if batch.timestamps_ms is not None:
            times = sent_times(batch.timestamps_ms).to_numpy(zero_copy_only=False)
            fields["a"][mine[:, 5]] = times.astype(np.int64).view(np.uint64)
        fields["a"][mine[:, 6]] = opaque
        theirs = np.ones(len(fields), np.bool_)
        theirs[mine.ravel()] = False
        return fields, starts, _fill_headers(fields, np.flatnonzero(theirs), headers)

    def _raise_unless_later(self, code: int, batch: RawBatch, taken: int) -> None:
        if not self._is_for_later(code, batch, taken):
            raise error(code)

    def _is_for_later(self, code: int, batch: RawBatch, taken: int) -> bool:
        """Return True if refused rows can be queued again: the queue is full, or the partition was just added.

        `taken` rows of the batch were queued before. With some the partition was there a moment ago, and is gone.
        """
        if code == UNKNOWN_PARTITION and batch.partition is not None and not taken:
            return may_be_there_for(self._native.handle, self._native.topic(batch.topic), batch.partition)
        return code == KafkaError._QUEUE_FULL  # noqa: SLF001 - librdkafka's own code


def _fill_headers(fields: npt.NDArray[Any], at: npt.NDArray[np.int64], headers: Sequence[RawHeaders]) -> object:
    """Fill in the headers, which are few and Python objects anyway. Only their addresses are computed by column."""
    flat = list(chain.from_iterable(headers))
    names = [name.encode() + b"\0" for name, _ in flat]
    values = [value if value is not None else b"" for _, value in flat]
    name_text, value_text = b"".join(names), b"".join(values)
    fields["kind"][at] = _HEADER
    fields["a"][at] = _address(name_text) + _begins(names)
    absent = np.fromiter((value is None for _, value in flat), np.bool_, len(flat))
    fields["b"][at] = np.where(absent, np.uint64(0), _address(value_text) + _begins(values))
    fields["c"][at] = np.fromiter(map(len, values), np.uint64, len(flat))
    return name_text, value_text


def _begins(texts: Sequence[bytes]) -> Words:
    ends = np.cumsum(np.fromiter(map(len, texts), np.uint64, len(texts)), dtype=np.uint64)
    begins = np.zeros(len(texts), np.uint64)
    begins[1:] = ends[:-1]
    return begins


def _address(text: bytes) -> np.uint64:
    return np.uint64(ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or _EMPTY)


def _places(array: pa.Array) -> tuple[Words, Words]:
    """Return the address and length of each value; address 0 where it is null."""
    array = _byte_strings(array)
    kind = array.type
    _, offsets_buffer, data = array.buffers()
    width = np.int64 if _is_wide(kind) else np.int32
    offsets = np.frombuffer(offsets_buffer, width, len(array) + 1, array.offset * np.dtype(width).itemsize)
    base = data.address if data is not None and data.address else _EMPTY
    addresses = offsets[:-1].astype(np.uint64) + np.uint64(base)
    lengths = np.diff(offsets).astype(np.uint64)
    if array.null_count:
        gone = array.is_null().to_numpy(zero_copy_only=False)
        addresses[gone] = 0
        lengths[gone] = 0
    return addresses, lengths


def _byte_strings(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    kind = array.type
    if _is_wide(kind) or pa.types.is_binary(kind) or pa.types.is_string(kind):
        return array
    return array.cast(pa.large_binary())


def _is_wide(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_large_binary(kind) or pa.types.is_large_string(kind))
