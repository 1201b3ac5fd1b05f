"""Gives each error the name of its class in Java, for the headers of dead letters. Pure."""

from __future__ import annotations

from typing import Final

from connect.api.errors import ConfigError, RetriableError, SchemaError
from connect.runtime.records.record_sizes import RecordTooLargeError

_CONNECT: Final = "org.apache.kafka.connect.errors."
_CLASSES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (RecordTooLargeError, "org.apache.kafka.common.errors.RecordTooLargeException"),
    (SchemaError, f"{_CONNECT}DataException"),
    (RetriableError, f"{_CONNECT}RetriableException"),
    (ConfigError, "org.apache.kafka.common.config.ConfigException"),
)


def java_class(error: Exception) -> str:
    """Return the name of the class that such an error has on a Java worker; ConnectException where none is closer.

    The class in Python stands in the letter's stack trace.
    """
    return next((name for kind, name in _CLASSES if isinstance(error, kind)), f"{_CONNECT}ConnectException")
