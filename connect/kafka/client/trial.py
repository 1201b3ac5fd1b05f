"""Tries the settings of clients on librdkafka itself, which alone knows every value that it takes.

No broker is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from connect.api.errors import ConfigError, ConfigProblem
from connect.kafka.client.java_names import Client, known_names, names_of, translate_names
from connect.kafka.client.settings import (
    ClientSettings,
    admin_settings,
    consumer_settings,
    is_secret,
    producer_settings,
)
from connect.lib.nearest import nearest

_ID: Final = "connect-settings-trial"
_UNKNOWN_MAX: Final = 50
"""At most so many settings that a client does not have are named."""
_OURS: Final = frozenset({"producer.path", "consumer.path"})


class _Client(NamedTuple):
    """Holds how to make a client's settings, and the client."""

    kind: Client
    settings: Callable[[Mapping[str, str], Mapping[str, str]], ClientSettings]
    made: Callable[[dict[str, Any]], object]


_CLIENTS: Final[Mapping[str, _Client]] = {
    "admin.": _Client("admin", partial(admin_settings, client_id=_ID), AdminClient),
    "producer.": _Client("producer", partial(producer_settings, client_id=_ID), Producer),
    "consumer.": _Client("consumer", partial(consumer_settings, client_id=_ID, group_id=_ID), Consumer),
}
"""Holds the clients of a worker by the prefix that their keys have in its file."""


def client_problems(worker: Mapping[str, str]) -> list[ConfigProblem]:
    """Return a problem for each key of a worker's file with which a client cannot be made."""
    found: dict[str, ConfigProblem] = {}
    for prefix in _CLIENTS:
        others = tuple(name for name in _CLIENTS if name != prefix)
        own = {key: value for key, value in worker.items() if not key.startswith(others)}
        for problem in _problems(own, partial(_refusal, _CLIENTS[prefix])):
            found.setdefault(problem.key or prefix, problem)
    return [*found.values()]


def refused_overrides(
    worker: Mapping[str, str], prefix: str, overrides: Mapping[str, str], *, in_transactions: bool = False
) -> list[ConfigProblem]:
    """Return a problem for each key of a connector's overrides with which its client cannot be made.

    `prefix` is the client's in a worker's file. Return no problems if the client cannot be made without them either.
    """
    client = _CLIENTS[prefix]
    if in_transactions and prefix == "producer.":
        client = client._replace(settings=partial(producer_settings, client_id=_ID, transactional_id=_ID))

    def refusal(given: Mapping[str, str]) -> str | None:
        return _refusal(client, worker, given)

    # A client is made for each key that may be the cause. Keys that change nothing are left out, as a thousand of them
    # would take seconds of the worker's.
    found = list(_problems(known_names(overrides, client.kind), refusal))
    if found and refusal({}) is not None:
        return []
    return [
        ConfigProblem(problem.key, "librdkafka refuses its value.") if is_secret(problem.key) else problem
        for problem in found
    ]


def unknown_overrides(prefix: str, overrides: Mapping[str, str]) -> Mapping[str, str | None]:
    """Return the overrides of a connector that the client does not have, each with the name that may be meant.

    `prefix` is the client's in a worker's file. Return none if an override cannot be read, as an error says so.
    """
    kind = _CLIENTS[prefix].kind
    try:
        unknown = translate_names(overrides, kind).unknown
    except ConfigError:
        return {}
    return {key: nearest(key, names_of(kind)) for key in unknown[:_UNKNOWN_MAX]}


def unknown_client_keys(worker: Mapping[str, str]) -> list[str]:
    """Return the keys of a worker's file, with a client's prefix, that this client does not have."""
    found: list[str] = []
    for prefix, client in _CLIENTS.items():
        try:
            found += [prefix + key for key in client.settings(worker, {}).unknown if prefix + key in worker]
        except ConfigError:
            continue  # client_problems names the broken key
    return found


def _problems(given: Mapping[str, str], refusal: Callable[[Mapping[str, str]], str | None]) -> Iterator[ConfigProblem]:
    """Yield the problems one by one, as librdkafka names only the first one, and by its own name of the key.

    A problem's key is the one without which librdkafka says something else; it is empty if there is no such key.
    """
    left = dict(given)
    while why := refusal(left):
        cause = next((key for key in left if refusal(_without(left, key)) != why), "")
        yield ConfigProblem(cause, why)
        if not cause:
            return
        left = _without(left, cause)


def _without(given: Mapping[str, str], key: str) -> dict[str, str]:
    return {name: value for name, value in given.items() if name != key}


def _refusal(client: _Client, worker: Mapping[str, str], overrides: Mapping[str, str] | None = None) -> str | None:
    """Return a sentence that says why a client cannot be made; None if it can."""
    try:
        properties = client.settings(worker, overrides or {}).properties
        own = {key: value for key, value in properties.items() if key not in _OURS}
        made = client.made({"log_level": 0, **own, "bootstrap.servers": ""})
    except ConfigError as error:
        return error.problems[0].message
    except KafkaException as error:
        return f"{error.args[0].str().strip().rstrip('.')}."
    if isinstance(made, Consumer):
        made.close()
    return None
