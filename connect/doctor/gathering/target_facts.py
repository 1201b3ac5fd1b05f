"""Asks if something listens where connectors' configurations say that their targets are. Nothing is sent to a target.

A target that is spoken to in TLS shows its certificate, for which its connection is opened once more.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import wait as await_all
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from connect.api.allowed_hosts import AllowedHosts, server_of
from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError
from connect.api.reach import Reach
from connect.cluster.validation.notes import CLIENT_OVERRIDES
from connect.doctor.gathering.kafka_facts import Configs
from connect.doctor.gathering.many_calls import called_for_each
from connect.doctor.gathering.reach_facts import declarations
from connect.doctor.gathering.registry_facts import registry_settings
from connect.doctor.gathering.shown_certificates import shown_certificate_end
from connect.doctor.model.facts import TargetFacts
from connect.kafka.client.override_rules import CLIENT_REACHES
from connect.lib.deadline import Deadline
from connect.lib.http_client import environment_proxy
from connect.plugins.catalog import Catalog
from connect.runtime.settings.config_providers import placeholders

CONNECT_S: Final = 2.0
"""A target that takes no connection within so many seconds counts as unreachable."""
_PORTS: Final[Mapping[str, int | None]] = {"": None, "http": 80, "https": 443, "redis": 6379, "rediss": 6379}
"""Maps each protocol whose servers are asked to its port; a text without a protocol has its port in it."""
_TLS: Final = frozenset({"https", "rediss"})
_HTTP: Final = frozenset({"http", "https"})
_PROXY: Final = "proxy"


@dataclass(frozen=True, slots=True)
class Server:
    """Names a server that can be asked."""

    host: str
    port: int
    is_tls: bool

    @property
    def address(self) -> str:
        """Return `host:port`."""
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class NamedServer:
    """Names a server, the connector that reaches it, and the key that names it there."""

    connector: str
    key: str
    server: Server


@dataclass(frozen=True, slots=True)
class Answer:
    """Tells why a server takes no connection (empty: it takes one), and when the certificate ends that it shows."""

    trouble: str = ""
    ends: datetime | None = None


def named_servers(
    catalog: Catalog, name: str, config: Mapping[str, str], worker: Mapping[str, str]
) -> Iterator[NamedServer]:
    """Yield the servers that a configuration names, and may.

    Those behind a proxy are left out, as other hosts may be known there, and registries, which are asked for more. So
    are those that a config provider names, as their names may be secrets.
    """
    allowed = AllowedHosts.by(worker)
    registries = {key for key, _ in registry_settings(config)}
    for key, text in _named(catalog, config):
        if key in registries or any(True for _ in placeholders(text)) or not allowed.allow(text):
            continue
        server = _server(text)
        if server is not None:
            yield NamedServer(name, key, server)


def target_facts(
    catalog: Catalog, configs: Configs, worker: Mapping[str, str], deadline: Deadline
) -> tuple[list[TargetFacts], int]:
    """Return what is known of each server that connectors name, and how many servers did not answer in time."""
    named = [one for name, config in configs.items() for one in named_servers(catalog, name, config, worker)]
    calls = called_for_each(lambda server: answer_of(server, deadline), [one.server for one in named], deadline)
    await_all(calls.values(), timeout=deadline.remaining_s)
    told = {server: call.result() for server, call in calls.items() if call.done() and not call.cancelled()}
    found = [
        TargetFacts(one.connector, one.key, one.server.address, told[one.server].trouble, told[one.server].ends)
        for one in dict.fromkeys(named)
        if one.server in told
    ]
    return found, len(calls) - len(told)


def answer_of(server: Server, deadline: Deadline) -> Answer:
    """Open a connection to a server and close it."""
    try:
        socket.create_connection((server.host, server.port), timeout=CONNECT_S).close()
    except TimeoutError:
        return Answer(f"no connection within {CONNECT_S:g} s")
    except (OSError, UnicodeError) as error:  # the codec of names of hosts refuses empty and overlong parts
        return Answer(getattr(error, "strerror", None) or str(error))
    return Answer(ends=shown_certificate_end(server.host, server.port, deadline) if server.is_tls else None)


def _named(catalog: Catalog, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the keys with the servers that they name. Broken settings name none, as validation tells of them."""
    for prefix, declaration in declarations(catalog, config):
        own = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
        try:
            parsed = declaration.parse(declaration.with_leave(own, EVERYWHERE))
        except ConfigError:
            continue
        named = [(key, text) for key, text in parsed.named_hosts() if key in own and text]
        proxies = [(key, text) for key, text in named if _PROXY in key]
        for key, text in proxies or named:
            yield from ((prefix + key, part) for part in _parts(text))
    for prefix in CLIENT_OVERRIDES:
        for name, reaches in CLIENT_REACHES.items():
            if {Reach.URL, Reach.HOST} & {*reaches} and (value := config.get(prefix + name)):
                yield from ((prefix + name, part) for part in _parts(value))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _server(text: str) -> Server | None:
    """Return the server that a URL or `host:port` names; None if its port is not known, or a proxy leads to it."""
    found = server_of(text)
    if found is None:  # it is no address, which validation says
        return None
    scheme = urlsplit(text).scheme.lower() if "://" in text else ""
    if scheme not in _PORTS or (scheme in _HTTP and environment_proxy(text) is not None):
        return None
    port = found[1] or _PORTS[scheme]
    return None if port is None else Server(found[0], port, scheme in _TLS)
