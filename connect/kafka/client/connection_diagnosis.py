"""Explains why a client does not reach its brokers: refused, unknown host, TLS, login, or not Kafka at all."""

from __future__ import annotations

import re
from typing import Final

from confluent_kafka import KafkaError

_STATE: Final = re.compile(r" \(after \d+ms in state \w+[^)]*(?:\(s\)[^)]*)?\)[,.]?.*$", re.DOTALL)
_NODE: Final = re.compile(r"^(?:\w+://)?[^ ]*?/(?:bootstrap|\d+): ")
_SIZE_ADVICE: Final = ": increase receive.message.max.bytes"
"""librdkafka gives this advice when the answer is not Kafka's at all."""
_ADVICE: Final = (
    ("Failed to resolve", "Is the host's name right in bootstrap.servers?"),
    ("Connection refused", "Nothing listens there: is the broker up, and the port right in bootstrap.servers?"),
    ("SSL", "Is security.protocol the one of that listener, and the broker's certificate one that is trusted?"),
    ("authentication", "Do sasl.mechanism and the credentials fit that listener?"),
    ("Invalid response size", "What listens there does not speak Kafka's protocol, or speaks it inside TLS."),
    ("timed out", "Does a firewall stand between?"),
)
NOT_KAFKA: Final = "No Kafka broker answered. Is it Kafka's port, and is security.protocol the one of that listener?"
"""This is said if a client could connect but got no answer, or does not know yet that it cannot connect."""


class ConnectionErrors:
    """Hears a client's errors (`error_cb`) and remembers the last one that says something. Any thread may ask."""

    def __init__(self) -> None:
        self._last: KafkaError | None = None
        self._all_down = False

    def on_error(self, error: KafkaError) -> None:
        """Take an error of the client.

        Errors of single brokers are kept in preference to the one that all brokers are down, as they say more.
        """
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - librdkafka's own code
            self._all_down = True
        else:
            self._last = error

    def met(self) -> None:
        """Forget all errors, as a broker has answered."""
        self._last, self._all_down = None, False

    @property
    def trouble(self) -> str | None:
        """Return in one or two sentences why no broker is reached; None if there was no error since the last answer."""
        if self._last is not None:
            return explained(self._last.str())
        return NOT_KAFKA if self._all_down else None


def explained(text: str) -> str:
    """Return librdkafka's text about a broker as a sentence, with advice on what to look at."""
    said = _NODE.sub("", _STATE.sub("", text)).removesuffix(_SIZE_ADVICE).rstrip(".")
    advice = next((advice for sign, advice in _ADVICE if sign in text), "")
    return f"{said}. {advice}".rstrip()
