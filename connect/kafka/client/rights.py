"""Writes the command that grants a client a right that the brokers deny. Pure; no command holds a secret."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from shlex import quote
from typing import Final, NamedTuple, Self

from confluent_kafka import KafkaError

Settings = Mapping[str, str | int | float | bool]
DENIALS: Final = frozenset({
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
})  # fmt: skip
"""Brokers answer so to a login that lacks a right."""


def grant_command(servers: str, principal: str, operations: Iterable[str], resource: str) -> str:
    """Return the command line that grants operations. `principal` is empty if it is not known.

    `resource` holds the options of kafka-acls.sh that name the resource, quoted for a shell.
    """
    allowed = quote(f"User:{principal or 'PRINCIPAL'}")
    wanted = " ".join(f"--operation {operation}" for operation in operations)
    return f"kafka-acls.sh --bootstrap-server {servers} --add --allow-principal {allowed} {wanted} {resource}"


class Needs(NamedTuple):
    """Says what a client does at the brokers, with which principal and which topics."""

    servers: str
    principal: str
    group: str
    transactional_id: str
    operation: str
    """Is `Read`, `Write` or `Create`, as kafka-acls.sh names operations on topics."""
    topics: Collection[str] = ()

    @classmethod
    def of(cls, settings: Settings, operation: str, topics: Collection[str] = ()) -> Self:
        """Return the needs of a client with librdkafka's `settings`."""
        names = ("bootstrap.servers", "sasl.username", "group.id", "transactional.id")
        servers, principal, group, transactional_id = (str(settings.get(name, "")) for name in names)
        return cls(servers, principal, group, transactional_id, operation, topics)

    def grant(self, code: int) -> str | None:
        """Return the command that grants the right denied by `code` (of DENIALS); None if the resource is not known."""
        operation, resource = self._denied(code)
        if not resource:
            return None
        return grant_command(self.servers, self.principal, [operation], resource)

    def _denied(self, code: int) -> tuple[str, str]:
        match code:
            case KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return self.operation, " ".join(f"--topic {quote(topic)}" for topic in sorted(self.topics))
            case KafkaError.GROUP_AUTHORIZATION_FAILED:
                return "Read", f"--group {quote(self.group)}" if self.group else ""
            case KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
                named = f"--transactional-id {quote(self.transactional_id)}"
                return "Write", named if self.transactional_id else ""
            case _:
                return "IdempotentWrite", "--cluster"
