"""Reads a topic's only partition from its start, and further on at each look."""

from __future__ import annotations

import json

from confluent_kafka import Consumer, KafkaException, TopicPartition

from connect.lib.deadline import Deadline


class TopicReader:
    """Collects the committed records, read from outside of the product."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._settings = {
            "bootstrap.servers": bootstrap_servers, "group.id": "looking-on", "enable.auto.commit": False,
            "isolation.level": "read_committed", "auto.offset.reset": "earliest", "enable.partition.eof": True,
        }  # fmt: skip
        self._topic = topic
        self._next = 0
        self._read: list[tuple[int, str]] = []

    def read(self) -> list[tuple[int, str]]:
        """Return offset and value, decoded from JSON, of all rows so far; more may come meanwhile.

        Each look has a new client: one that survived the end of the broker may know no topics for minutes.
        """
        deadline = Deadline.after(60)
        while True:
            consumer = Consumer(self._settings)
            try:
                self._read_with(consumer)
            except KafkaException:
                if not deadline.wait(0.5):
                    raise
            else:
                return self._read
            finally:
                consumer.close()

    def _read_with(self, consumer: Consumer) -> None:
        at = TopicPartition(self._topic, 0, self._next)
        end = consumer.get_watermark_offsets(at, timeout=10)[1]
        consumer.assign([at])
        while self._next < end:
            message = consumer.poll(10.0)
            if message is None:
                raise KafkaException(f"Nothing came of {self._topic} from {self._next} on in 10 s.")
            error = message.error()
            if error is not None and error.name() == "_PARTITION_EOF":
                return  # only the markers of transactions are left
            if error is not None:
                raise KafkaException(error)
            self._read.append((message.offset(), json.loads(message.value())))
            self._next = message.offset() + 1
