"""Decides which machines a configuration may name: any, or only those that the worker's own file lists."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import urlsplit

from connect.api.errors import ConfigProblem
from connect.lib.setting_text import parse_list

ALLOWED_HOSTS: Final = "allowed.hosts"
"""This key of the worker lists names (`*.example.com`), addresses, networks (`10.0.0.0/8`), each also with a port."""
PROFILE: Final = "security.profile"
STRICT: Final = "strict"
"""In this profile configurations may name no host but those of ALLOWED_HOSTS."""
ANY_HOST: Final = "*"


class AllowedHosts:
    """Holds the machines that a configuration may name. Names count as they are written: nothing is looked up."""

    def __init__(self, listed: tuple[str, ...] | None) -> None:
        """Take the entries of ALLOWED_HOSTS; None allows every machine."""
        self._listed = None if listed is None or ANY_HOST in listed else listed

    @classmethod
    def by(cls, worker: Mapping[str, str]) -> AllowedHosts:
        """Return the machines that a worker of these settings lets configurations name."""
        text = worker.get(ALLOWED_HOSTS)
        if text is None:
            return cls(() if worker.get(PROFILE, "").strip() == STRICT else None)
        listed = parse_list(text)
        assert isinstance(listed, tuple)
        return cls(listed)

    @property
    def are_all(self) -> bool:
        """Return True where every machine may be named."""
        return self._listed is None

    def allow(self, server: str) -> bool:
        """Return True if a configuration may name this URL or `host:port`."""
        return not any(True for _ in self.problems([("", server)]))

    def problems(self, named: Iterable[tuple[str, str]]) -> Iterator[ConfigProblem]:
        """Yield the problems of pairs of a key and a value: a URL or `host:port`, or several of them with commas
        between.
        """
        if self._listed is not None:
            for key, value in named:
                yield from self._problems(key, value, self._listed)

    def _problems(self, key: str, value: str, listed: tuple[str, ...]) -> Iterator[ConfigProblem]:
        for part in filter(None, (part.strip() for part in value.split(","))):
            address = server_of(part)
            if address is None:
                yield ConfigProblem(
                    key, f"Invalid value for configuration {key}: it names no host that this worker can judge. Write "
                    "host:port, or a URL with a host."
                )  # fmt: skip
            elif not any(_fits(allowed, *address) for allowed in listed):
                yield self._told(key, *address)

    def _told(self, key: str, host: str, port: int | None) -> ConfigProblem:
        shown = host if port is None else f"{f'[{host}]' if ':' in host else host}:{port}"
        line = f"{ALLOWED_HOSTS}={'…,' if self._listed else ''}{shown}"
        return ConfigProblem(
            key, f"Invalid value for configuration {key}: this worker lets no configuration name the host {shown}. "
            f"Where it should, add to the worker's own file: {line}."
        )  # fmt: skip


def with_ports(named: Iterable[tuple[str, str]], ports: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield pairs of a key and a server. A server without a port gets the one that `ports` has for its key; several
    with commas between are taken apart.
    """
    for key, text in named:
        if key not in ports or ports[key] < 1:
            yield key, text
        else:
            yield from ((key, _with_port(part.strip(), ports[key])) for part in text.split(","))


def _with_port(text: str, port: int) -> str:
    server = server_of(text) if "://" not in text else None
    if server is None or server[1] is not None:
        return text
    return f"{f'[{server[0]}]' if ':' in server[0] else server[0]}:{port}"


def check_allowed_host(text: str) -> None:
    """Raise ValueError for an entry of ALLOWED_HOSTS that no host can match."""
    if text == ANY_HOST:
        return
    if _network(text) is None and ("/" in text or server_of(text.replace("*", "x")) is None):
        raise ValueError(f"{text!r} is no name, address or network, as *.example.com, 10.0.0.7:5432 or 10.0.0.0/8")


def _fits(allowed: str, host: str, port: int | None) -> bool:
    network = _network(allowed)
    if network is not None:
        try:
            return ipaddress.ip_address(host) in network
        except ValueError:
            return False  # The host is a name, which is not looked up.
    wanted = server_of(allowed)
    if wanted is None:
        return False
    name, only = wanted
    return fnmatchcase(host, name) and (only is None or only == port)


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def server_of(text: str) -> tuple[str, int | None] | None:
    """Return the host, in small letters, and the port of a URL or of `host:port`; None if it names no host."""
    # The program that connects may end the host at a backslash, or skip characters that do not print, and so reach
    # another host than the one checked here.
    if not text.isprintable() or "\\" in text or " " in text:
        return None
    bare = text.count(":") > 1 and not text.startswith("[") and "://" not in text
    try:
        parts = urlsplit(text if "://" in text else f"//[{text}]" if bare else f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    return (host.rstrip("."), port) if host else None
