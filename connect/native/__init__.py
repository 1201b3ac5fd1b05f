"""The hot loops in C++, where the install found a compiler; without them the same work is done by Arrow and NumPy.

Each function has a twin in Python that decides what is right: it gives the same result or None, "not mine", and then
the twin does the work. `CONNECT_NATIVE=off` leaves the native code out.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from connect.lib.native_build import is_stale

if TYPE_CHECKING:
    import pyarrow as pa

_LOG: Final = logging.getLogger("connect.native")
_Pair = tuple[object, object]
"""Holds the capsules of an Arrow schema and its array."""
_OFF: Final = frozenset({"off", "false", "0", "no"})


@cache
def module() -> ModuleType | None:
    """Return the compiled module; None where it is switched off or was not built, which is said once."""
    if os.environ.get("CONNECT_NATIVE", "").lower() in _OFF:
        _LOG.info("The native code is switched off by CONNECT_NATIVE; JSON and Kafka records go the slower way.")
        return None
    try:
        from connect.native import _connect
    except ImportError as error:
        _LOG.info(
            "The native code is not there (%s); JSON and Kafka records go the slower way. "
            "Install a C++17 compiler, then this package again, to have it.",
            error,
        )
        return None
    if is_stale(getattr(_connect, "sources", None), [Path(__file__).parent / "src"]):
        _LOG.warning(
            "The native code was built from other sources than those beside it, and is left out; JSON and Kafka "
            "records go the slower way. Build it again: make setup, or pip install the package again."
        )
        return None
    return _connect


def decode_json(data: pa.BinaryArray, wire: Any | None, *, head: int = 0, tail: int = 0) -> pa.StructArray | None:
    """Return JSON objects, one per row, as a struct column of the type `wire`, or of the type they have in common.

    The first `head` and the last `tail` bytes of each row are no part of it. Null bytes give a null row. None: not
    here, be it that a row is no strict JSON object, that types are mixed, or that a number needs a closer look.
    """
    native = module()
    made = None if native is None else native.decode_json(data, wire, head, tail)
    return None if made is None else _array(made[0])


class Inferred(NamedTuple):
    """Holds rows of JSON as a column.

    is_whole: it tells every row's value exactly; is_compact: no row has space in its JSON. It is not whole where a row
    lacks a field that others have, or has an integer where others have a fraction.
    """

    objects: pa.StructArray
    is_whole: bool
    is_compact: bool


def infer_json(data: pa.BinaryArray) -> Inferred | None:
    """Return what `decode_json` does, in the type that the rows have in common."""
    native = module()
    made = None if native is None else native.decode_json(data, None, 0, 0)
    return None if made is None else Inferred(_array(made[0]), *made[1:])


def encode_json(data: pa.Array, *, prefix: bytes = b"", suffix: bytes = b"") -> pa.BinaryArray | None:
    """Return the JSON of every value as Java writes it, with `prefix` and `suffix`; null for a null.

    None: not here, as the type has no writer: a map, a decimal beyond 38 digits, a struct without fields.
    """
    native = module()
    if native is None:
        return None
    return _array(native.encode_json(data, prefix, suffix))


def compact_json(data: pa.BinaryArray) -> pa.BinaryArray | None:
    """Return JSON texts without the space between their tokens, so that each is one line; nothing else of them changes.

    What is given must be JSON. Null for a null. None: not here.
    """
    native = module()
    return None if native is None else _array(native.compact_json(data))


def encode_avro(data: pa.StructArray, plan: bytes, *, prefix: bytes) -> pa.BinaryArray | None:
    """Return the Avro of every row behind `prefix`, by a plan of `avro.native_plan`.

    None: not here, as a type is not the plan's, or a value is missing.
    """
    native = module()
    if native is None:
        return None
    return _array(native.encode_avro(data, plan, prefix))


def decode_avro(data: pa.BinaryArray, wire: pa.DataType, plan: bytes, *, head: int) -> pa.StructArray | None:
    """Return Avro records, one per row behind `head` bytes, as a column of the type `wire`.

    The plan is one of `avro.native_plan`. None: not here, as a row is null or no record of the plan to its very end, or
    a value does not go into the type.
    """
    native = module()
    return None if native is None else _array(native.decode_avro(data, wire, plan, head))


def sum_crc32(values: pa.BinaryArray, keys: pa.BinaryArray | None) -> int | None:
    """Return the sum, modulo 2**64, of each row's checksum; None: not here.

    That is zlib.crc32 of the row's key and then its value, which begins at 1 where the value is null.
    """
    native = module()
    found: int | None = None if native is None else native.sum_crc32(values, keys)
    return found


class Read(NamedTuple):
    """Holds records of one partition.

    headers: per record, None when no record has any; next_offset: behind the last one.
    """

    topic: str
    partition: int
    values: pa.BinaryArray
    keys: pa.BinaryArray | None
    headers: Sequence[Sequence[tuple[str, bytes | None]]] | None
    timestamps_ms: pa.Int64Array
    offsets: pa.Int64Array
    next_offset: int


class Consumed(NamedTuple):
    """Holds what a queue gave: batches, errors, and ends of partitions that were reached.

    An error is librdkafka's code and text, the topic (None: of none), the partition and the offset. An end is a topic,
    a partition and the offset behind everything that can be read.
    """

    batches: Sequence[Read]
    errors: Sequence[tuple[int, str, str | None, int, int]]
    ends: Sequence[tuple[str, int, int]]


def bind_librdkafka(path: Path) -> None:
    """Tell `consume` where librdkafka is: the one that made its queues. OSError when the file is none."""
    _built().bind_librdkafka(str(path))


def consume(queue: int, most: int, *, wait_s: float, fill_s: float) -> Consumed:
    """Return at most `most` records of a rd_kafka_queue_t on which no callback may come.

    Waits `wait_s` for the first one, then takes what comes within `fill_s`; the GIL is free meanwhile.
    """
    batches, errors, ends = _built().consume(queue, most, int(wait_s * 1000), int(fill_s * 1000))
    return Consumed([_read(batch) for batch in batches], errors, ends)


_UNKNOWN_PARTITION: Final = -190
"""This is librdkafka's RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION. It refuses all rows of a batch, or none."""


class _Sent(NamedTuple):
    rows: object
    """The native code's, which counts them and keeps them in memory."""
    on_acknowledged: Callable[[], None]


class RowSender:
    """Sends rows into one librdkafka producer without a copy, and keeps its linger.ms (see kafka_linger.h).

    Owned by the producer's thread. Order of calls: made from the rd_kafka_conf_t, `start` with the client, anything,
    `stop`, the client is destroyed, `close`.
    """

    def __init__(self, conf: int) -> None:
        self._native = _built()
        self._linger = self._native.linger_new(conf)
        self._sent: deque[_Sent] = deque()

    def start(self, client: int, *, linger_ms: float, batch_bytes: int) -> None:
        """Start to send; `batch_bytes`: from how many bytes of a partition on librdkafka sends by itself."""
        self._native.linger_start(self._linger, client, linger_ms, batch_bytes)

    def send(
        self,
        topic: int,
        partition: int,
        values: pa.Array,
        keys: pa.Array | None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        *,
        start: int,
        on_acknowledged: Callable[[], None],
    ) -> tuple[int, int]:
        """Queue rows from `start` on until one is refused.

        Return how many were taken, and librdkafka's code (0: none was). Columns of binary or string, large or not.
        Their memory is kept, and must not be changed, until `settle` after librdkafka is done with the rows. `settle`
        calls `on_acknowledged` once all that were taken are in Kafka. `headers`: what every one of the rows has. Where
        the client does not know the partition, and has taken no row, `on_acknowledged` is not called.
        """
        own = None if headers is None else list(headers)
        taken, refusal, rows = self._native.produce(
            self._linger, topic, partition, values, keys, own, start, len(values)
        )
        if refusal == _UNKNOWN_PARTITION and not taken:
            self._native.forget_rows(rows)  # librdkafka has none of them, but may have counted one as failed
            return 0, refusal
        self._sent.append(_Sent(rows, on_acknowledged))
        self.settle()
        return taken, refusal

    def queue(self, count: int, queue: Callable[[int], int], on_acknowledged: Callable[[], None]) -> int:
        """Have `queue` queue `count` rows that librdkafka copies, with the opaque it is given; return how many it took.

        `on_acknowledged`: see `send`.
        """
        rows, opaque = self._native.copied_rows(count)
        self._sent.append(_Sent(rows, on_acknowledged))  # kept whatever happens: librdkafka counts in it
        taken = queue(opaque)
        if not taken:
            self._sent.pop()
            self._native.forget_rows(rows)  # librdkafka may have counted the refused row as failed
            on_acknowledged()
            return 0
        self._native.refused_rows(rows, count - taken)
        return taken

    def queued(self, size_bytes: int) -> None:
        """Take note that rows were queued in another way than `send`."""
        self._native.linger_queued(self._linger, size_bytes)

    def hurry(self) -> None:
        """Tell the linger that no more rows come for now."""
        self._native.linger_hurry(self._linger)

    def settle(self) -> None:
        """Let go of the rows that librdkafka is done with, and tell of those that are in Kafka."""
        left: deque[_Sent] = deque()
        for sent in self._sent:
            count, failed = self._native.open_rows(sent.rows)
            if count:
                left.append(sent)
            elif not failed:
                sent.on_acknowledged()
        self._sent = left

    def stop(self) -> None:
        """Stop: nothing is sent any more."""
        self._native.linger_stop(self._linger)

    def close(self) -> None:
        """Forget all rows: the client is gone, and with it every pointer to a row."""
        for sent in self._sent:
            self._native.forget_rows(sent.rows)
        self._sent.clear()


def _read(batch: Sequence[Any]) -> Read:
    topic, partition, values, keys, headers, timestamps_ms, offsets, next_offset = batch
    times = _array(timestamps_ms)
    return Read(topic, partition, _array(values), _array(keys), headers, times, _array(offsets), next_offset)


def _built() -> ModuleType:
    native = module()
    if native is None:
        raise RuntimeError("This needs the native code: ask connect.native.module() first.")
    return native


class _Capsules:
    """Holds what the native code made, in the form that Arrow takes over without a copy."""

    def __init__(self, capsules: _Pair) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> _Pair:
        return self._capsules


def _array(capsules: _Pair | None) -> Any | None:
    import pyarrow as pa

    return None if capsules is None else pa.array(_Capsules(capsules))
