"""Letters and marks of aborted transactions are none, whatever the worker's own file says of its consumers."""

import pyarrow as pa
from kafka_drive import in_s, send

from connect.dlq.letters import LetterTopic
from connect.dlq.selection import Selection
from connect.kafka.raw import RawBatch


def test_what_was_written_in_an_aborted_transaction_is_neither_a_letter_nor_a_mark(clients, topic_name, unique):
    topic = LetterTopic({**clients.worker, "consumer.isolation.level": "read_uncommitted"}, clients.topic(topic_name))
    send(clients, topic_name, [b"bad row"])
    (letter,) = topic.letters(Selection(), in_s(60))
    topic.make_marks_topic(in_s(60))
    producer = clients.producer(transactional_id=unique)
    producer.init_transactions(in_s(60))
    for end, letters in ((producer.abort, 1), (producer.commit, 2)):
        producer.begin()
        producer.send(topic.marks([letter]), in_s(60))
        producer.send(RawBatch(topic_name, pa.array([b"another"], pa.binary())), in_s(60))
        producer.flush(in_s(60))
        end(in_s(60))
        assert len(list(topic.letters(Selection(), in_s(60)))) == letters
        assert len(topic.replayed(in_s(60))) == letters - 1
