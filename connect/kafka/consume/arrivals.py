"""Has a consumer's thread sleep until librdkafka queues an event, or another thread wakes it."""

from __future__ import annotations

import math
import os
import select
import threading
from contextlib import suppress
from ctypes import c_void_p
from typing import Final

from connect.kafka.client.librdkafka import library

_MARK: Final = b"1"
_MANY_BYTES: Final = 4096


class Arrivals:
    """Wakes the thread that waits, through a pipe into which librdkafka writes when a queue is empty no more.

    Between two waits each queue has to be read until it is empty: librdkafka tells of the next event only then.
    """

    def __init__(self) -> None:
        self._lib = library()
        self._queues: list[c_void_p] = []
        self._lock = threading.Lock()  # any thread may call `wake`, also while the pipe is closed
        self._is_open = True
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        self._poll = select.poll()
        self._poll.register(self._reader, select.POLLIN)

    def watch(self, queue: int) -> None:
        """End waits for events of a rd_kafka_queue_t, too, which must live until `close`."""
        self._queues.append(c_void_p(queue))
        self._lib.rd_kafka_queue_io_event_enable(self._queues[-1], self._writer, _MARK, len(_MARK))

    def wait(self, timeout_s: float) -> bool:
        """Wait for an event or a call of `wake`. Return False if the time was over before."""
        if not self._poll.poll(math.ceil(timeout_s * 1000)):
            return False
        with suppress(BlockingIOError):
            os.read(self._reader, _MANY_BYTES)
        return True

    def wake(self) -> None:
        """End the wait, or the next one. Any thread may call it."""
        with self._lock, suppress(BlockingIOError):  # a full pipe wakes, too
            if self._is_open:
                os.write(self._writer, _MARK)

    def close(self) -> None:
        """Free the pipe, before the queues are freed. May be called twice."""
        with self._lock:
            if not self._is_open:
                return
            self._is_open = False
            for queue in self._queues:
                self._lib.rd_kafka_queue_io_event_enable(queue, -1, None, 0)
            os.close(self._reader)
            os.close(self._writer)
