"""Writes the command that grants a client what the brokers deny it. It is pure, and no command holds a secret."""

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
"""What brokers answer to a login that lacks a right."""


def grant_command(servers: str, principal: str, operations: Iterable[str], resource: str) -> str:
    """Return the command line that grants operations. `principal`: empty where it is not known.

    `resource`: the options of kafka-acls.sh that name it, quoted for a shell.
    """
    allowed = quote(f"User:{principal or 'PRINCIPAL'}")
    wanted = " ".join(f"--operation {operation}" for operation in operations)
    return f"kafka-acls.sh --bootstrap-server {servers} --add --allow-principal {allowed} {wanted} {resource}"


class Needs(NamedTuple):
    """What a client does at the brokers: as whom, and with which topics."""

    servers: str
    principal: str
    group: str
    transactional_id: str
    operation: str
    """`Read`, `Write` or `Create`, as kafka-acls.sh names what is done to topics."""
    topics: Collection[str] = ()

    @classmethod
    def of(cls, settings: Settings, operation: str, topics: Collection[str] = ()) -> Self:
        """Return those of a client with librdkafka's `settings`."""
        names = ("bootstrap.servers", "sasl.username", "group.id", "transactional.id")
        servers, principal, group, transactional_id = (str(settings.get(name, "")) for name in names)
        return cls(servers, principal, group, transactional_id, operation, topics)

    def grant(self, code: int) -> str | None:
        """Return the command that grants what an answer of DENIALS asks for; None when its resource is not known."""
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
