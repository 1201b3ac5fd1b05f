"""Starts a development environment in the right order, and keeps the facts that a person needs to use it."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from connect.api.allowed_paths import ALLOWED_PATHS, CLOSED
from connect.api.errors import ConnectError
from connect.tools.dev.addresses import ports_of
from connect.tools.dev.databases import Database
from connect.tools.services import KafkaService, SchemaRegistryService, SeaweedS3Service
from connect.tools.services.process.cache import cache_folder
from connect.tools.services.process.port_claims import PortClaims
from connect.tools.services.process.supervised import SupervisedService
from connect.tools.services.worker import WorkerService

BUCKET: Final = "lake"
GROUP: Final = "connect-dev"
S3_KEYS: Final = "s3.properties"
"""This file holds the S3 keys. A connector's configuration refers to it, and so holds no secret itself."""

VARIABLES: Final = "env.sh"


@dataclass(frozen=True)
class DevServices:
    """Tells which services there are besides Kafka and the worker."""

    registry: bool = True
    s3: bool = True
    paths: tuple[Path, ...] = ()
    """Connectors may name these files, and these folders with all in them."""
    databases: tuple[Database[Any], ...] = ()


@dataclass(frozen=True)
class Offer:
    """Tells how a connector reaches a running database. `connector` is the content of `file`."""

    title: str
    about: str
    connector: Mapping[str, object]
    file: Path


class DevEnvironment:
    """Keeps services and a worker whose data stay in `folder`. It is owned by the thread that starts and stops them."""

    def __init__(self, folder: Path, parts: DevServices, say: Callable[[str], None]) -> None:
        """Take `say`, which gets a sentence about each service that is started."""
        self._folder = folder.resolve()
        self._parts = parts
        self._say = say
        self._stack = ExitStack()
        self._running: list[SupervisedService[Any]] = []
        self.addresses: dict[str, str] = {}
        """Holds the address of each service, by a text that says what the service is."""
        self.offers: list[Offer] = []
        """Holds an offer for each database that was asked for."""

    @property
    def paths(self) -> Sequence[Path]:
        """Return the paths that connectors may name."""
        return self._parts.paths

    def start(self) -> Self:
        """Start everything, and return when it answers. ConnectError, ServiceError: something failed, and all is
        stopped again.
        """
        if "," in str(self._folder):
            raise ConnectError(f"The path {self._folder} has a comma.", fix="Name another --folder.")
        self._folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(_locked(self._folder))
            self._start_services(stack)
            self._stack = stack.pop_all()
        return self

    def stop(self) -> None:
        """End the worker and then the services. It may be called twice."""
        self._stack.close()

    def start_ended(self) -> None:
        """Start services again that have ended by themselves or were killed."""
        for service in self._running:
            if not service.running:
                self._say(f"{service.name} has ended (see {service.log_path}) and is started again")
                service.start()

    def _start_services(self, stack: ExitStack) -> None:
        claims = stack.enter_context(PortClaims(cache_folder() / "ports"))
        further = {database.name: database.ports for database in self._parts.databases}
        ports = ports_of(self._folder, further, claims.take)

        def begin(service: SupervisedService[Any]) -> None:
            self._say(f"starting {service.name}")
            stack.enter_context(service)
            self._running.append(service)

        kafka = KafkaService(data_folder=self._folder / "kafka", ports=ports["kafka"])
        begin(kafka)
        brokers = kafka.endpoint.bootstrap_servers
        self.addresses["Apache Kafka"] = brokers
        if self._parts.registry:
            registry = SchemaRegistryService(
                data_folder=self._folder / "schema-registry", ports=ports["schema-registry"]
            )
            begin(registry)
            self.addresses["schema registry"] = registry.endpoint.url
        if self._parts.s3:
            s3 = SeaweedS3Service(data_folder=self._folder / "seaweedfs", ports=ports["seaweedfs"])
            begin(s3)
            s3.create_bucket(BUCKET)
            self._write_keys(s3)
            self.addresses["S3"] = s3.endpoint.url
        for database in self._parts.databases:
            service = database.service(self._folder / database.name, ports[database.name])
            begin(service)
            database.fill(service.endpoint, self._folder)
            self.addresses[database.title] = database.address(service.endpoint)
            self.offers.append(self._offer(database, service.endpoint))
        settings = {
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "config.providers.file.param.allowed.paths": ",".join(map(str, self._folder.glob("*.properties"))),
            # Otherwise a connector could write files that a person's shell reads, and read the services' secrets.
            ALLOWED_PATHS: ",".join((*map(str, self.paths), f"{CLOSED}{self._folder}")),
        }
        worker = WorkerService(
            brokers, group_id=GROUP, settings=settings, data_folder=self._folder / "worker", ports=ports["worker"]
        )
        begin(worker)
        self.addresses["worker (REST)"] = worker.endpoint.url
        self.addresses["worker (pages)"] = f"{worker.endpoint.url}/ui"
        self._write_variables()

    def _offer(self, database: Database[Any], endpoint: Any) -> Offer:
        """Write a connector's configuration into the folder, and return it."""
        file = self._folder / f"{database.name}-connector.json"
        connector = {"name": f"dev-{database.name}", "config": dict(database.connector(endpoint, self._folder))}
        file.write_text(json.dumps(connector, indent=2) + "\n")
        return Offer(database.title, database.about, connector, file)

    def _write_variables(self) -> None:
        """Write the addresses into a file that shells can source."""
        variables = {"CONNECT_URL": self.addresses["worker (REST)"], "KAFKA_BROKERS": self.addresses["Apache Kafka"]}
        if self._parts.s3:
            variables["S3_URL"] = self.addresses["S3"]
        variables |= {
            f"{database.name.upper()}_URL": self.addresses[database.title] for database in self._parts.databases
        }
        lines = (f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
        (self._folder / VARIABLES).write_text("".join(lines))

    def _write_keys(self, s3: SeaweedS3Service) -> None:
        file = self._folder / S3_KEYS
        file.touch(mode=0o600)
        keys = {"access.key.id": s3.endpoint.access_key_id, "secret.access.key": s3.endpoint.secret_access_key}
        file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock. ConnectError: another process holds it."""
    with (folder / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise ConnectError(
                f"Process {file.read().strip() or '(unknown)'} has started the environment in {folder}, and it runs.",
                fix="Use that one, end it, or name another --folder.",
            ) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
