"""Makes bad rows of records that are too large. Their errors name both limits: the producer's and the topic's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from connect.api.errors import ConnectError, RejectedRowsError
from connect.kafka.raw import RawBatch

if TYPE_CHECKING:
    import pyarrow as pa

SIZE_KEY: Final = "producer.override.max.request.size"


class RecordTooLargeError(ConnectError):
    """A record, or a request of records, is larger than Kafka takes."""


class RecordSizes:
    """Finds records that are too large. Owned by the task thread.

    `limit_bytes` is the producer's limit; `topic_limit` asks Kafka for the max.message.bytes of a topic.
    """

    def __init__(self, limit_bytes: int, topic_limit: Callable[[str], str | None]) -> None:
        self.limit_bytes = limit_bytes
        self._topic_limit = topic_limit
        self._topics: set[str] = set()

    def check(self, raw: RawBatch) -> None:
        """Raise RejectedRowsError, which names the rows that are too large.

        No row is looked at where the whole batch is below the limit.
        """
        self._topics.add(raw.topic)
        whole = raw.values.nbytes + (0 if raw.keys is None else raw.keys.nbytes)
        if whole <= self.limit_bytes and raw.headers is None:
            return
        import pyarrow.compute as pc

        sizes = _sizes(raw)
        large = pc.indices_nonzero(pc.greater(sizes, self.limit_bytes)).to_pylist()
        if large:
            raise RejectedRowsError({
                i: RecordTooLargeError(
                    f"The record of {sizes[i].as_py()} bytes is too large. {self._limits([raw.topic])}",
                    key=SIZE_KEY, fix="Raise both, or make the record smaller.",
                )
                for i in large
            })  # fmt: skip

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn a ConnectError of the block inside into the one that `explained` returns."""
        try:
            yield
        except ConnectError as error:
            explained = self.explained(error)
            if explained is error:
                raise
            raise explained from error

    def explained(self, error: ConnectError) -> ConnectError:
        """Return an error with both limits if a broker refused a record for its size; any other error as it is."""
        if error.key != SIZE_KEY or isinstance(error, RecordTooLargeError):
            return error
        return RecordTooLargeError(f"{error.message} {self._limits(self._topics)}", key=SIZE_KEY, fix=error.fix)

    def _limits(self, topics: Collection[str]) -> str:
        ours = f"The producer takes max.request.size={self.limit_bytes} bytes"
        theirs = [f"topic {t} max.message.bytes={self._topic_limit(t) or 'unknown'}" for t in sorted(topics)]
        return f"{', '.join([ours, *theirs])}."


def _sizes(raw: RawBatch) -> pa.Array:
    """Return the bytes of key, value and headers of each row, as librdkafka counts them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes = pc.fill_null(pc.binary_length(raw.values), 0).cast(pa.int64())
    if raw.keys is not None:
        sizes = pc.add(sizes, pc.fill_null(pc.binary_length(raw.keys), 0))
    if raw.headers is not None:
        of_headers = [sum(len(key.encode()) + len(value or b"") for key, value in row) for row in raw.headers]
        sizes = pc.add(sizes, pa.array(of_headers, pa.int64()))
    return sizes
