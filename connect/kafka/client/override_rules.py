"""Says which files and addresses Kafka clients' settings name, and which of these a connector may override.

No connector may set what loads a library or runs a command: see `settings.WORKERS_ALONE` and `java_names`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from connect.api.allowed_hosts import AllowedHosts
from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.kafka.client.security_names import translate_security

CLIENT_REACHES: Final[Mapping[str, tuple[Reach, ...]]] = MappingProxyType({
    "bootstrap.servers": (Reach.HOST,),
    "https.ca.location": (Reach.FILE,),
    "partition.assignment.strategy": (Reach.CLASS,),
    "partitioner.class": (Reach.CLASS,),
    "sasl.jaas.config": (Reach.CLASS, Reach.FILE, Reach.COMMAND),
    "sasl.kerberos.keytab": (Reach.FILE, Reach.COMMAND),
    "sasl.kerberos.principal": (Reach.COMMAND,),
    "sasl.kerberos.service.name": (Reach.COMMAND,),
    "sasl.oauthbearer.assertion.file": (Reach.FILE,),
    "sasl.oauthbearer.assertion.private.key.file": (Reach.FILE,),
    "sasl.oauthbearer.token.endpoint.url": (Reach.URL,),
    "ssl.ca.location": (Reach.FILE,),
    "ssl.certificate.location": (Reach.FILE,),
    "ssl.crl.location": (Reach.FILE,),
    "ssl.engine.factory.class": (Reach.CLASS,),
    "ssl.key.location": (Reach.FILE,),
    "ssl.keystore.location": (Reach.FILE,),
    "ssl.providers": (Reach.CLASS,),
    "ssl.truststore.location": (Reach.FILE,),
})  # fmt: skip
"""Maps a setting to the kinds of things that it names, such as files.

The names are those behind `producer.override.`, `consumer.override.` and `admin.override.`.
"""
HARMLESS: Final[Mapping[str, str]] = MappingProxyType({
    "security.providers": "Java's, without effect",
    "ssl.provider": "Java's, without effect",
})  # fmt: skip
"""Maps settings that sound as if they named such a thing to the reason why they do not."""
_PROBE: Final = "probe"
"""librdkafka calls the system's certificates so."""
_PLAIN: Final = re.compile(r"(?!-)[\w./@:+-]*", re.ASCII)
"""librdkafka puts such values into the command line of kinit, so no character may mean something to a shell. A value
that begins with a hyphen would be an option, such as that which names the file for the ticket.
"""
_JAAS: Final = "sasl.jaas.config"


def override_problems(
    given: Mapping[str, str], prefix: str, allowed: AllowedPaths, hosts: AllowedHosts
) -> Iterator[ConfigProblem]:
    """Yield the overrides that a connector may not have: files that the worker does not allow, commands, protocols.

    `prefix` is the beginning of the keys in the connector's configuration, such as `producer.override.`.
    """
    for key, value in given.items():
        yield from _value_problems(key, value, prefix + key, allowed)
        if {Reach.HOST, Reach.URL} & {*CLIENT_REACHES.get(key, ())}:
            yield from hosts.problems([(prefix + key, value)])
    if _JAAS in given:
        # The login module of Kerberos has its options in one text.
        options = translate_security({_JAAS: given[_JAAS]}).properties
        for key, value in options.items():
            yield from _value_problems(key, value, prefix + _JAAS, allowed)


def _value_problems(key: str, value: str, name: str, allowed: AllowedPaths) -> Iterator[ConfigProblem]:
    reaches = CLIENT_REACHES.get(key, ())
    if Reach.COMMAND in reaches and key != _JAAS and not _PLAIN.fullmatch(value):
        yield ConfigProblem(
            name, f"Invalid value for configuration {name}: {key} becomes a part of a command, so it may hold only "
            "letters, digits and . _ / @ : + -, and does not begin with -."
        )  # fmt: skip
    if Reach.FILE in reaches and key != _JAAS and value not in {"", _PROBE}:
        problem = allowed.problem(name, value)
        if problem is not None:
            yield problem
    if Reach.URL in reaches and urlsplit(value).scheme not in {"http", "https"}:
        yield ConfigProblem(name, f"Invalid value for configuration {name}: give an http or https address.")
