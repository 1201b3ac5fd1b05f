"""Finds librdkafka's client inside one of confluent_kafka's, by reading memory that no API offers.

The first use in a process tries this on a client without brokers, in milliseconds. If anything differs from what is
known here, None is returned from then on, so callers use confluent_kafka's own calls, which cost more. The log says so
once.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from ctypes import c_void_p
from typing import Final

import confluent_kafka
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from connect.api.errors import ConnectError
from connect.kafka.client.librdkafka import library

_LOG = logging.getLogger("connect.kafka.client.inner_client")
_AT_BYTES: Final = object.__basicsize__
"""In confluent_kafka's clients the pointer to librdkafka's client follows the PyObject head (confluent_kafka.h)."""
_POINTER_BYTES: Final = ctypes.sizeof(c_void_p)
_KNOWN_MAJOR: Final = 2
_CLIENT_BYTES: Final = 4096
"""It is the number of bytes of the client that functions such as rd_kafka_name read at most (librdkafka 2.16)."""
_CLIENT_ID: Final = "connect-inner-client"


def client_of(client: Consumer | Producer | AdminClient) -> c_void_p | None:
    """Return the rd_kafka_t of a client, valid until the client is closed; None: use confluent_kafka's own calls."""
    return None if _TRIAL.fault() is not None else _pointer(client)


def is_library_known() -> bool:
    """Tell if the functions of `connect.kafka.client.librdkafka` may be called in this process."""
    return _TRIAL.fault() is None


class _Trial:
    """Tries once in a process if memory is as expected. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # clients are made on many threads, but the log is to have one line
        self._done = False
        self._fault: str | None = None

    def fault(self) -> str | None:
        """Return how the two libraries differ from what this module knows of them; None if they do not."""
        if self._done:
            return self._fault
        with self._lock:
            if not self._done:
                self._fault = _fault()
                self._done = True
                if self._fault is not None:
                    _LOG.warning(
                        "Kafka is read and written by confluent-kafka's own calls, which cost more CPU: %s "
                        "Install a release of confluent-kafka that this version supports.",
                        self._fault,
                    )
        return self._fault


_TRIAL: Final = _Trial()


def _fault() -> str | None:
    try:
        lib = library()
    except (ConnectError, OSError, AttributeError) as error:
        return f"its librdkafka cannot be called: {error}."
    used, loaded = confluent_kafka.libversion()[1], lib.rd_kafka_version()
    if used != loaded or used >> 24 != _KNOWN_MAJOR:
        return f"it uses librdkafka {used:#x}, and {loaded:#x} of major version {_KNOWN_MAJOR} was looked for."
    tried = Producer({"client.id": _CLIENT_ID, "log_level": 0})
    try:
        name = _name(tried)
    except OSError as error:
        return f"librdkafka's client is not where it was in its clients ({error})."
    return None if name == _CLIENT_ID.encode() else f"librdkafka's client in its clients is called {name!r}."


def _name(client: Producer) -> bytes:
    """Return the name of the librdkafka client at an address.

    Raise OSError if there is no mapped memory; the process does not end.
    """
    if type(client).__basicsize__ < _AT_BYTES + _POINTER_BYTES:
        raise OSError(f"its clients have only {type(client).__basicsize__} bytes")
    found = _pointer(client)
    if found is None or not found.value:
        raise OSError("the pointer is null")
    _copied(found.value, _CLIENT_BYTES)
    name = ctypes.CFUNCTYPE(c_void_p, c_void_p)(("rd_kafka_name", library()))(found)
    return _copied(name or 0, len(_CLIENT_ID))


def _pointer(client: Consumer | Producer | AdminClient) -> c_void_p | None:
    address = c_void_p.from_address(id(client) + _AT_BYTES).value
    return None if address is None else c_void_p(address)


def _copied(address: int, size_bytes: int) -> bytes:
    """Return memory that the kernel reads. Raise OSError for a bad address, which does not end the process."""
    reader, writer = os.pipe()
    try:
        written = ctypes.CDLL(None, use_errno=True).write(writer, c_void_p(address), ctypes.c_size_t(size_bytes))
        if written != size_bytes:
            raise OSError(ctypes.get_errno(), f"{size_bytes} bytes at {address:#x} cannot be read")
        return os.read(reader, size_bytes)
    finally:
        os.close(reader)
        os.close(writer)
