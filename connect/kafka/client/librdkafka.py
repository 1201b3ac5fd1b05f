"""Calls functions of the bundled librdkafka that confluent_kafka lacks, or offers with a Python object per record.

Source: rdkafka.h of librdkafka 2.16, whose ABI is kept within a major version. ctypes calls release the GIL.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from functools import cache
from importlib.metadata import files
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.lib.deadline import Deadline

EVENT_DELIVERY: Final = 0x1
EVENT_LOG: Final = 0x4
EVENT_ERROR: Final = 0x8
COORDINATOR_S: Final = 3600.0
"""librdkafka gets this limit for a question to a group's coordinator. It is the longest limit that it accepts.

After librdkafka has given up a question, the process ends (an assertion of rd_kafka_enq_once_del_source_return) if the
client still lives when the coordinator is found: librdkafka issues 3663 and 4605. So our own deadline ends first, and
the client is dropped with its question.
"""
_ANY_REQUEST: Final = 0
_POLL_S: Final = 0.1
_MEET_MS: Final = 200


class PartitionEntry(Structure):
    """This structure is rd_kafka_topic_partition_t."""

    _fields_ = (
        ("topic", c_char_p), ("partition", c_int32), ("offset", c_int64), ("metadata", c_void_p),
        ("metadata_size", c_size_t), ("opaque", c_void_p), ("err", c_int), ("private", c_void_p),
    )  # fmt: skip


class PartitionList(Structure):
    """This structure is rd_kafka_topic_partition_list_t."""

    _fields_ = (("cnt", c_int), ("size", c_int), ("elems", POINTER(PartitionEntry)))


class Message(Structure):
    """This structure is rd_kafka_message_t. `columnar_path` fills arrays of them from Arrow buffers."""

    _fields_ = (
        ("err", c_int), ("rkt", c_void_p), ("partition", c_int32), ("payload", c_void_p), ("len", c_size_t),
        ("key", c_void_p), ("key_len", c_size_t), ("offset", c_int64), ("private", c_void_p),
    )  # fmt: skip


class TopicMetadata(Structure):
    """This structure is rd_kafka_metadata_topic_t."""

    _fields_ = (("topic", c_char_p), ("partition_cnt", c_int), ("partitions", c_void_p), ("err", c_int))


class Metadata(Structure):
    """This structure is rd_kafka_metadata_t as far as it is read here."""

    _fields_ = (
        ("broker_cnt", c_int), ("brokers", c_void_p), ("topic_cnt", c_int), ("topics", POINTER(TopicMetadata)),
    )  # fmt: skip


_SIGNATURES: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "rd_kafka_version": (c_int, ()),
    "rd_kafka_err2str": (c_char_p, (c_int,)),
    "rd_kafka_topic_partition_list_new": (POINTER(PartitionList), (c_int,)),
    "rd_kafka_topic_partition_list_add": (
        POINTER(PartitionEntry),
        (POINTER(PartitionList), c_char_p, c_int32),
    ),
    "rd_kafka_topic_partition_list_destroy": (None, (POINTER(PartitionList),)),
    "rd_kafka_queue_new": (c_void_p, (c_void_p,)),
    "rd_kafka_queue_destroy": (None, (c_void_p,)),
    "rd_kafka_queue_get_consumer": (c_void_p, (c_void_p,)),
    "rd_kafka_queue_io_event_enable": (None, (c_void_p, c_int, c_char_p, c_size_t)),
    "rd_kafka_queue_get_partition": (c_void_p, (c_void_p, c_char_p, c_int32)),
    "rd_kafka_queue_forward": (None, (c_void_p, c_void_p)),
    "rd_kafka_queue_poll": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_commit_queue": (c_int, (c_void_p, POINTER(PartitionList), c_void_p, c_void_p, c_void_p)),
    "rd_kafka_event_error": (c_int, (c_void_p,)),
    "rd_kafka_event_error_string": (c_char_p, (c_void_p,)),
    "rd_kafka_AdminOptions_new": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_AdminOptions_set_request_timeout": (c_int, (c_void_p, c_int, c_char_p, c_size_t)),
    "rd_kafka_AdminOptions_destroy": (None, (c_void_p,)),
    "rd_kafka_DeleteConsumerGroupOffsets_new": (c_void_p, (c_char_p, POINTER(PartitionList))),
    "rd_kafka_DeleteConsumerGroupOffsets_destroy": (None, (c_void_p,)),
    "rd_kafka_DeleteConsumerGroupOffsets": (
        None,
        (c_void_p, POINTER(c_void_p), c_size_t, c_void_p, c_void_p),
    ),
    "rd_kafka_event_DeleteConsumerGroupOffsets_result": (c_void_p, (c_void_p,)),
    "rd_kafka_DeleteConsumerGroupOffsets_result_groups": (POINTER(c_void_p), (c_void_p, POINTER(c_size_t))),
    "rd_kafka_group_result_error": (c_void_p, (c_void_p,)),
    "rd_kafka_group_result_partitions": (POINTER(PartitionList), (c_void_p,)),
    "rd_kafka_event_topic_partition_list": (POINTER(PartitionList), (c_void_p,)),
    "rd_kafka_event_destroy": (None, (c_void_p,)),
    "rd_kafka_event_type": (c_int, (c_void_p,)),
    "rd_kafka_event_message_next": (POINTER(Message), (c_void_p,)),
    "rd_kafka_event_log": (c_int, (c_void_p, POINTER(c_char_p), POINTER(c_char_p), POINTER(c_int))),
    "rd_kafka_conf_new": (c_void_p, ()),
    "rd_kafka_conf_set": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)),
    "rd_kafka_conf_set_events": (None, (c_void_p, c_int)),
    "rd_kafka_conf_destroy": (None, (c_void_p,)),
    "rd_kafka_new": (c_void_p, (c_int, c_void_p, c_char_p, c_size_t)),
    "rd_kafka_destroy": (None, (c_void_p,)),
    "rd_kafka_set_log_queue": (c_int, (c_void_p, c_void_p)),
    "rd_kafka_queue_get_main": (c_void_p, (c_void_p,)),
    "rd_kafka_topic_new": (c_void_p, (c_void_p, c_char_p, c_void_p)),
    "rd_kafka_topic_name": (c_char_p, (c_void_p,)),
    "rd_kafka_topic_destroy": (None, (c_void_p,)),
    "rd_kafka_metadata": (c_int, (c_void_p, c_int, c_void_p, POINTER(c_void_p), c_int)),
    "rd_kafka_metadata_destroy": (None, (c_void_p,)),
    "rd_kafka_last_error": (c_int, ()),
    "rd_kafka_produce_batch": (c_int, (c_void_p, c_int32, c_int, c_void_p, c_int)),
    "rd_kafka_produceva": (c_void_p, (c_void_p, c_void_p, c_size_t)),
    "rd_kafka_outq_len": (c_int, (c_void_p,)),
    "rd_kafka_purge": (c_int, (c_void_p, c_int)),
    "rd_kafka_fatal_error": (c_int, (c_void_p, c_char_p, c_size_t)),
    "rd_kafka_init_transactions": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_begin_transaction": (c_void_p, (c_void_p,)),
    "rd_kafka_commit_transaction": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_abort_transaction": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_error_code": (c_int, (c_void_p,)),
    "rd_kafka_error_string": (c_char_p, (c_void_p,)),
    "rd_kafka_error_is_fatal": (c_int, (c_void_p,)),
    "rd_kafka_error_is_retriable": (c_int, (c_void_p,)),
    "rd_kafka_error_txn_requires_abort": (c_int, (c_void_p,)),
    "rd_kafka_error_destroy": (None, (c_void_p,)),
}


def library_path() -> Path:
    """Return the path of the librdkafka that confluent_kafka uses. Raise ConnectError if it cannot be found."""
    bundled = [f for f in files("confluent-kafka") or () if f.name.startswith(("librdkafka-", "librdkafka."))]
    paths = [Path(str(f.locate())) for f in bundled]
    if not paths:
        raise ConnectError(
            "confluent-kafka was installed without its own librdkafka.", fix="Install it as a wheel from PyPI."
        )
    return paths[0]


@cache
def library() -> ctypes.CDLL:
    """Load librdkafka and declare the types of its functions."""
    lib = ctypes.CDLL(str(library_path()))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def error(code: int, *, reason: str | None = None, fatal: bool = False) -> KafkaException:
    """Return confluent_kafka's exception for one of librdkafka's error codes."""
    return KafkaException(KafkaError(code, reason or library().rd_kafka_err2str(code).decode(), fatal))


def raise_error(pointer: int | None) -> None:
    """Free a rd_kafka_error_t and raise it as an exception. Do nothing for None, which is no error."""
    if not pointer:
        return
    lib = library()
    cause = KafkaError(
        lib.rd_kafka_error_code(pointer),
        lib.rd_kafka_error_string(pointer).decode(errors="replace"),
        bool(lib.rd_kafka_error_is_fatal(pointer)),
        bool(lib.rd_kafka_error_is_retriable(pointer)),
        bool(lib.rd_kafka_error_txn_requires_abort(pointer)),
    )
    lib.rd_kafka_error_destroy(pointer)
    raise KafkaException(cause)


def meet_brokers(client: c_void_p | int) -> None:
    """Ask the brokers for their addresses, with short time-outs. Errors are ignored; they show when rows are sent.

    An idempotent producer may lose its first broker, the one of bootstrap.servers, before it has its id. It asks again
    half a second later, or when it hears of the brokers again. The second answer comes from a broker that stays.
    """
    lib = library()
    for _ in range(2):
        found = c_void_p()
        if lib.rd_kafka_metadata(client, 0, None, byref(found), _MEET_MS) == 0:
            lib.rd_kafka_metadata_destroy(found)


def partition_count(client: c_void_p | int, topic: int, timeout_ms: int) -> int | None:
    """Ask the brokers how many partitions a topic has now; the client knows them from then on, too.

    `topic` is a rd_kafka_topic_t of the client. Return None if no broker answers in time.
    """
    lib = library()
    found = c_void_p()
    if lib.rd_kafka_metadata(client, 0, topic, byref(found), timeout_ms) != 0:
        return None
    try:
        told = ctypes.cast(found, POINTER(Metadata)).contents
        return sum(int(told.topics[i].partition_cnt) for i in range(told.topic_cnt) if not told.topics[i].err)
    finally:
        lib.rd_kafka_metadata_destroy(found)


def commit_offsets(client: c_void_p, offsets: Mapping[TopicPartition, int], deadline: Deadline) -> None:
    """Commit and wait for the answer. Raise KafkaException with _TIMED_OUT when there is none in time."""
    lib = library()
    wanted = lib.rd_kafka_topic_partition_list_new(len(offsets))
    queue = lib.rd_kafka_queue_new(client)
    try:
        for (topic, partition), offset in offsets.items():
            entry = lib.rd_kafka_topic_partition_list_add(wanted, topic.encode(), partition)
            entry.contents.offset = offset
        _raise_if(lib.rd_kafka_commit_queue(client, wanted, queue, None, None))
        event = _next_event(queue, deadline)
        try:
            _raise_if(lib.rd_kafka_event_error(event))
            answered = lib.rd_kafka_event_topic_partition_list(event).contents
            for i in range(answered.cnt):
                _raise_if(answered.elems[i].err)
        finally:
            lib.rd_kafka_event_destroy(event)
    finally:
        lib.rd_kafka_topic_partition_list_destroy(wanted)
        lib.rd_kafka_queue_destroy(queue)


def forget_offsets(
    client: c_void_p, group: str, partitions: Collection[TopicPartition], deadline: Deadline
) -> dict[TopicPartition, KafkaError]:
    """Delete a group's committed offsets of some partitions. Return the errors of those that were refused.

    Raise KafkaException if the request failed as a whole, with _TIMED_OUT when no answer came in time.
    """
    lib = library()
    wanted = lib.rd_kafka_topic_partition_list_new(len(partitions))
    for topic, partition in partitions:
        lib.rd_kafka_topic_partition_list_add(wanted, topic.encode(), partition)
    request = c_void_p(lib.rd_kafka_DeleteConsumerGroupOffsets_new(group.encode(), wanted))
    lib.rd_kafka_topic_partition_list_destroy(wanted)
    options = c_void_p(lib.rd_kafka_AdminOptions_new(client, _ANY_REQUEST))
    lib.rd_kafka_AdminOptions_set_request_timeout(options, int(COORDINATOR_S * 1000), None, 0)
    queue = lib.rd_kafka_queue_new(client)
    try:
        lib.rd_kafka_DeleteConsumerGroupOffsets(client, byref(request), 1, options, queue)
        event = _next_event(queue, deadline)
        try:
            if code := lib.rd_kafka_event_error(event):
                raise error(code, reason=lib.rd_kafka_event_error_string(event).decode(errors="replace"))
            return _refused(lib.rd_kafka_event_DeleteConsumerGroupOffsets_result(event))
        finally:
            lib.rd_kafka_event_destroy(event)
    finally:
        lib.rd_kafka_AdminOptions_destroy(options)
        lib.rd_kafka_DeleteConsumerGroupOffsets_destroy(request)
        lib.rd_kafka_queue_destroy(queue)


def _refused(result: int) -> dict[TopicPartition, KafkaError]:
    """Return the errors of the one group in a rd_kafka_DeleteConsumerGroupOffsets_result_t, which its event owns."""
    lib = library()
    count = c_size_t()
    groups = lib.rd_kafka_DeleteConsumerGroupOffsets_result_groups(result, byref(count))
    failed = lib.rd_kafka_group_result_error(groups[0])
    if failed:
        raise error(lib.rd_kafka_error_code(failed), reason=lib.rd_kafka_error_string(failed).decode(errors="replace"))
    answered = lib.rd_kafka_group_result_partitions(groups[0]).contents
    entries = [answered.elems[i] for i in range(answered.cnt)]
    return {TopicPartition(e.topic.decode(), e.partition): KafkaError(e.err) for e in entries if e.err}


def _next_event(queue: int, deadline: Deadline) -> int:
    while True:
        event = library().rd_kafka_queue_poll(queue, int(min(_POLL_S, deadline.remaining_s) * 1000))
        if event:
            return int(event)
        if deadline.expired:
            raise error(KafkaError._TIMED_OUT)  # noqa: SLF001 - librdkafka's own code


def _raise_if(code: int) -> None:
    if code:
        raise error(code)
