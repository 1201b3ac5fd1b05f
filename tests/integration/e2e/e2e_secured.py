"""Adds a listener to brokers that needs a login by TLS and SCRAM, and manages the rights of the login."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from shlex import split
from typing import NamedTuple

import trustme
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from e2e_worker import wait_for

from connect.tools.services.process.ports import LOOPBACK, free_ports

LOGIN = "connect"
PASSWORD = "canary-4711"


class Right(NamedTuple):
    """Holds a right of the workers' login; the names are those of kafka-acls.sh."""

    resource: str
    name: str
    operation: str
    prefixed: bool = False

    def binding(self, kind: type[AclBinding | AclBindingFilter]) -> AclBinding | AclBindingFilter:
        """Return the right in the form of an admin client."""
        pattern = ResourcePatternType.PREFIXED if self.prefixed else ResourcePatternType.LITERAL
        return kind(
            ResourceType[self.resource], self.name, pattern, f"User:{LOGIN}", "*", AclOperation[self.operation],
            AclPermissionType.ALLOW,
        )  # fmt: skip


class SecuredListener:
    """Adds a further listener to each of three brokers. Everybody may do everything on the other listeners."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        authority = trustme.CA()
        self._trusted, self._store = folder / "authority.pem", folder / "broker.pem"
        authority.cert_pem.write_to_path(str(self._trusted))
        issued = authority.issue_cert(LOOPBACK)
        # Brokers read private keys in no other form.
        key = load_pem_private_key(issued.private_key_pem.bytes(), None)
        key_text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self._store.write_bytes(key_text + b"".join(part.bytes() for part in issued.cert_chain_pems))
        self._ports = dict(enumerate(free_ports(3), 1))

    @property
    def worker_settings(self) -> dict[str, str]:
        """Return the settings of a worker's file by which it reaches the brokers."""
        module = "org.apache.kafka.common.security.scram.ScramLoginModule required"
        return {
            "bootstrap.servers": ",".join(f"{LOOPBACK}:{port}" for port in self._ports.values()),
            "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{module} username="{LOGIN}" password="{PASSWORD}";',
            "ssl.truststore.type": "PEM", "ssl.truststore.location": str(self._trusted),
        }  # fmt: skip

    @property
    def client_settings(self) -> dict[str, str]:
        """Return the settings by which librdkafka reaches the brokers, except for the password."""
        return {
            "bootstrap.servers": self.worker_settings["bootstrap.servers"], "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": LOGIN, "ssl.ca.location": str(self._trusted),
        }  # fmt: skip

    def properties(self, number: int, listeners: str, advertised: str) -> dict[str, str]:
        """Return a broker's properties for this listener beside the `listeners` that it has."""
        own = f"LOGINS://{LOOPBACK}:{self._ports[number]}"
        return {
            "listeners": f"{listeners},{own}",
            "advertised.listeners": f"{advertised},{own}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGINS:SASL_SSL",
            "listener.name.logins.ssl.keystore.type": "PEM",
            "listener.name.logins.ssl.keystore.location": str(self._store),
            "listener.name.logins.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.logins.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }


def add_login(
    admin: AdminClient, rights: Sequence[Right], password: str = PASSWORD, at: SecuredListener | None = None
) -> None:
    """Let the workers log in, and give them the rights. If `at` is given, wait there until a right to create topics
    counts.
    """
    scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    change = UserScramCredentialUpsertion(LOGIN, scram, password.encode())
    admin.alter_user_scram_credentials([change])[LOGIN].result(60)
    for done in admin.create_acls([right.binding(AclBinding) for right in rights]).values():
        done.result(60)
    names = [right.name for right in rights if right.operation == "CREATE"] if at is not None else []
    if at is not None and names:
        login = AdminClient({**at.client_settings, "sasl.password": password})
        wait_for(lambda: _may_create(login, names[-1]), 60, f"the right of {LOGIN} to create topic {names[-1]}")


def _may_create(login: AdminClient, name: str) -> bool:
    asked = login.create_topics([NewTopic(name, 1, 1)], validate_only=True)[name]
    try:
        asked.result(60)
    except KafkaException as error:
        return error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    return True


def take_right(admin: AdminClient, right: Right) -> None:
    """Take a right away; the login must have it."""
    for done in admin.delete_acls([right.binding(AclBindingFilter)]).values():
        assert len(done.result(60)) == 1, right


def grant(admin: AdminClient, command: str) -> None:
    """Do what a command line of kafka-acls.sh says, which is not among the brokers' jars."""
    program, *arguments = split(command)
    assert program == "kafka-acls.sh", command
    options = ArgumentParser()
    for name in ("--bootstrap-server", "--allow-principal", "--operation"):
        options.add_argument(name, required=True)
    options.add_argument("--add", action="store_true", required=True)
    for resource in ("topic", "group", "transactional-id"):
        options.add_argument(f"--{resource}", action="append", default=[])
    given = options.parse_args(arguments)
    assert given.allow_principal == f"User:{LOGIN}"
    named = {"TOPIC": given.topic, "GROUP": given.group, "TRANSACTIONAL_ID": given.transactional_id}
    rights = [Right(kind, name, given.operation.upper()) for kind, names in named.items() for name in names]
    assert rights, command
    for done in admin.create_acls([right.binding(AclBinding) for right in rights]).values():
        done.result(60)
