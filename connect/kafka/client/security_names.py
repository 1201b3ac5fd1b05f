# ruff: noqa: SIM905 - a hundred names read better as text
"""Translates Java's TLS and SASL settings into librdkafka's. It is pure; no value of a key ever enters a message."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connect.api.errors import ConfigProblem

_SAME: Final = frozenset("""
    enable.sasl.oauthbearer.unsecure.jwt sasl.kerberos.keytab sasl.kerberos.min.time.before.relogin
    sasl.kerberos.principal sasl.kerberos.service.name sasl.mechanism sasl.oauthbearer.assertion.algorithm
    sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
    sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
    sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.private.key.pem
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.client.id sasl.oauthbearer.client.secret sasl.oauthbearer.config sasl.oauthbearer.extensions
    sasl.oauthbearer.grant.type sasl.oauthbearer.method sasl.oauthbearer.scope sasl.oauthbearer.sub.claim.name
    sasl.oauthbearer.token.endpoint.url sasl.password sasl.username security.protocol ssl.ca.location ssl.ca.pem
    ssl.certificate.location ssl.certificate.pem ssl.crl.location ssl.curves.list ssl.key.location ssl.key.password
    ssl.key.pem ssl.providers ssl.sigalgs.list
""".split())  # fmt: skip

# Java's keys choose protocol versions and providers; OpenSSL does that by itself.
_NEEDLESS: Final = frozenset("""
    ssl.protocol ssl.enabled.protocols ssl.provider ssl.keymanager.algorithm ssl.trustmanager.algorithm
    ssl.secure.random.implementation ssl.engine.factory.class ssl.truststore.password ssl.truststore.type
    ssl.keystore.type ssl.client.auth sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
    sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.retry.backoff.max.ms
    sasl.login.retry.backoff.ms
""".split())  # fmt: skip

_PEM_SUFFIXES: Final = (".pem", ".crt", ".cer")
_JAAS: Final = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)(?P<options>.*?);\s*", re.DOTALL
)
_OPTION: Final = re.compile(r"""\s*([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")


@dataclass(slots=True)
class SecuritySettings:
    """Holds the translated properties, the keys that they were made from, and the problems."""

    properties: dict[str, str] = field(default_factory=dict)
    consumed: set[str] = field(default_factory=set)
    problems: list[ConfigProblem] = field(default_factory=list)

    def refuse(self, key: str, message: str) -> None:
        """Note a broken key; the message is a sentence without the key's value."""
        self.problems.append(ConfigProblem(key, f"Invalid value for configuration {key}: {message}"))


def translate_security(given: Mapping[str, str]) -> SecuritySettings:
    """Translate the security.*, sasl.* and ssl.* keys of one client.

    Keys not in `consumed` are unknown to both sides.
    """
    out = SecuritySettings()
    for key, value in given.items():
        if key in _SAME:
            out.properties[key] = value
        if key in _SAME or key in _NEEDLESS:
            out.consumed.add(key)
    _truststore(given, out)
    _keystore(given, out)
    _host_check(given, out)
    if "sasl.jaas.config" in given:
        out.consumed.add("sasl.jaas.config")
        _jaas(given["sasl.jaas.config"], out)
    return out


def _truststore(given: Mapping[str, str], out: SecuritySettings) -> None:
    out.consumed |= {"ssl.truststore.certificates", "ssl.truststore.location"}
    if certificates := given.get("ssl.truststore.certificates"):
        out.properties["ssl.ca.pem"] = certificates
    if location := given.get("ssl.truststore.location"):
        if _is_pem(given.get("ssl.truststore.type"), location):
            out.properties["ssl.ca.location"] = location
        else:
            out.refuse(
                "ssl.truststore.location",
                "only PEM certificates can be read here. Export them (keytool -exportcert -rfc -keystore STORE -alias"
                " NAME) and set ssl.truststore.type=PEM.",
            )


def _keystore(given: Mapping[str, str], out: SecuritySettings) -> None:
    renamed = {"ssl.keystore.certificate.chain": "ssl.certificate.pem", "ssl.keystore.key": "ssl.key.pem"}
    out.consumed |= {*renamed, "ssl.keystore.location", "ssl.keystore.password"}
    out.properties.update({renamed[k]: v for k, v in given.items() if k in renamed})
    location = given.get("ssl.keystore.location")
    if not location:
        return
    kind = given.get("ssl.keystore.type", "")
    if kind.upper() == "PKCS12" or (not kind and location.endswith((".p12", ".pfx"))):
        out.properties["ssl.keystore.location"] = location
        if password := given.get("ssl.keystore.password"):
            out.properties["ssl.keystore.password"] = password
    elif _is_pem(kind, location):
        out.properties["ssl.certificate.location"] = out.properties["ssl.key.location"] = location
    else:
        out.refuse(
            "ssl.keystore.location",
            "a JKS store cannot be read here. Convert it (keytool -importkeystore -deststoretype PKCS12) and set"
            " ssl.keystore.type=PKCS12.",
        )


def _is_pem(kind: str | None, location: str) -> bool:
    return kind.upper() == "PEM" if kind else location.endswith(_PEM_SUFFIXES)


def _host_check(given: Mapping[str, str], out: SecuritySettings) -> None:
    key = "ssl.endpoint.identification.algorithm"
    if key in given:
        out.consumed.add(key)
        out.properties[key] = given[key].strip().lower() or "none"


def _jaas(text: str, out: SecuritySettings) -> None:
    found = _JAAS.fullmatch(text)
    options = _options(found["options"]) if found else None
    if not found or options is None:
        out.refuse("sasl.jaas.config", 'it must read: MODULE required NAME="VALUE" …; - ended by a semicolon.')
        return
    module = found["module"].rpartition(".")[2]
    names = _MODULES.get(module)
    if names is None:
        out.refuse("sasl.jaas.config", f"login module {module} is not known; known are {', '.join(_MODULES)}.")
        return
    out.properties.update({names[k]: v for k, v in options.items() if k in names})
    if module == "OAuthBearerLoginModule" and "sasl.oauthbearer.client.id" in out.properties:
        out.properties.setdefault("sasl.oauthbearer.method", "oidc")


_MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "OAuthBearerLoginModule": {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
    "Krb5LoginModule": {"keyTab": "sasl.kerberos.keytab", "principal": "sasl.kerberos.principal"},
}


def _options(text: str) -> dict[str, str] | None:
    """Return the NAME=VALUE pairs of a text; None if there is anything else in it."""
    options: dict[str, str] = {}
    at = 0
    while at < len(text.rstrip()):
        found = _OPTION.match(text, at)
        if found is None:
            return None
        name, double, single, bare = found.groups()
        quoted = double if double is not None else single
        options[name] = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        at = found.end()
    return options
