"""Finds the schema that rows are written with, and the schema that an id names; each is asked for once."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from connect.api.errors import SchemaError
from connect.convert.registry.client import Registered, RegistryClient
from connect.convert.registry.config import RegistryConfig
from connect.convert.registry.subjects import STRATEGIES

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
REFERENCES_DEEP: Final = 100
"""At most so many references may follow one another, as a registry is not trusted to end a chain."""
REFERENCES: Final = 10_000
"""A schema may refer to at most so many others."""
REFERENCES_MIB: Final = 16
"""Their texts may have so many MiB together, as many as one answer of a registry."""


class Recent(Generic[K, V]):
    """Keeps the values used last, made when they are first asked for; what raises is not kept."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, which `make` makes where it is missing."""
        if key in self._values:
            self._values.move_to_end(key)
            return self._values[key]
        value = self._values[key] = make()
        if len(self._values) > self._size:
            self._values.popitem(last=False)
        return value

    def clear(self) -> None:
        """Forget all values."""
        self._values.clear()


class Schemas:
    """Finds the schemas of one converter. Owned by one task thread."""

    def __init__(self, config: RegistryConfig, client: RegistryClient, *, is_key: bool) -> None:
        self._config = config
        self._client = client
        self._is_key = is_key
        self._subject = STRATEGIES[config.key_strategy if is_key else config.value_strategy]

    @property
    def changes_by_itself(self) -> bool:
        """Tell if the schema that is written may change without a change of the rows."""
        config = self._config
        return not config.auto_register and config.use_schema_id < 0 and config.use_latest and config.latest_ttl_s >= 0

    @property
    def fresh_until(self) -> float:
        """Return the moment (monotonic clock) until which an answer about the latest version holds."""
        return time.monotonic() + self._config.latest_ttl_s

    def for_writing(self, topic: str, own: Registered, record_name: str | None) -> Registered:
        """Return the schema, with its id, that rows of the schema `own` are written with.

        The order of precedence is Java's.
        """
        config, client = self._config, self._client
        subject = self._subject(topic, self._is_key, record_name)
        if config.auto_register:
            return replace(own, schema_id=client.register(subject, own))
        if config.use_schema_id >= 0:
            return client.by_id(config.use_schema_id)
        if config.use_latest:
            return client.latest(subject)
        return replace(own, schema_id=client.lookup(subject, own))

    def for_reading(self, schema_id: int) -> Registered:
        """Return the schema that an id names."""
        return self._client.by_id(schema_id)

    def version(self, schema_id: int, topic: str, record_name: str | None) -> int | None:
        """Return the version that a schema id has in its subject.

        Return None if the subject does not have it, or is not known without a record's name.
        """
        if record_name is None and self._subject is not STRATEGIES[_TOPIC]:
            return None
        return self._client.version_of(schema_id, self._subject(topic, self._is_key, record_name))

    def references(self, schema: Registered) -> Sequence[tuple[str, Registered]]:
        """Return the schemas that the schema refers to, with their names; each stands behind those that it refers to.

        Raise SchemaError if the references have no end, or are very long.
        """
        found: dict[str, Registered] = {}
        left_chars = REFERENCES_MIB << 20

        def collect(schema: Registered, path: tuple[str, ...]) -> None:
            nonlocal left_chars
            for reference in schema.references:
                if reference.name in path or len(path) > REFERENCES_DEEP or len(found) > REFERENCES:
                    raise SchemaError(
                        "The schemas of the registry refer to each other without an end, or more than "
                        f"{REFERENCES_DEEP} deep, or to more than {REFERENCES}: "
                        f"{' -> '.join((*path[-3:], reference.name))[:300]}."
                    )
                if reference.name not in found:
                    referred = self._client.by_version(reference)
                    left_chars -= len(referred.text)
                    if left_chars < 0:
                        raise SchemaError(
                            "The schemas of the registry that one refers to are longer than "
                            f"{REFERENCES_MIB} MiB together."
                        )
                    collect(referred, (*path, reference.name))
                    found[reference.name] = referred

        collect(schema, ())
        return list(found.items())


_TOPIC = next(iter(STRATEGIES))
