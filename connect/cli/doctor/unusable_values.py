"""Finds in a worker's file what its declarations take and nobody can use: values, and keys that need another key.

It reads nothing but the file, what it names on this machine, and what is installed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from connect.api.errors import ConfigError, ConfigProblem
from connect.cluster.validation.override_policy import may_override, policy_name
from connect.cluster.validation.plugins import CONVERTERS
from connect.kafka.admin.topic_settings import TOPIC_SETTINGS
from connect.kafka.client.own_login import LOGIN_ADDRESSES
from connect.kafka.client.security_names import translate_security
from connect.lib.nearest import nearest
from connect.plugins.catalog import Catalog
from connect.rest.server.cors import origin_patterns
from connect.rest.server.response_headers import response_headers
from connect.rest.tls.contexts import LISTENERS
from connect.runtime.settings.alert_keys import WEBHOOK_URL
from connect.runtime.settings.worker_config import WorkerConfig

_HOST: Final = re.compile(r"\[?[A-Za-z0-9_.:%-]+\]?")
_HOST_ENTRY: Final = re.compile(r"(\*\.)?[A-Za-z0-9_.:\[\]%*-]+")
_HOST_PORT: Final = re.compile(r"\[?[A-Za-z0-9_.:%*-]+\]?:\d{1,5}")
_DRIVER: Final = re.compile(r"\w+(\+\w+)?")
_ORIGIN: Final = re.compile(r"\*|.*://.*")
_CLAIM: Final = re.compile(r"[\w./:-]+")
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_PROTOCOL: Final = "security.protocol"
_FOLDERS: Final = ("allowed.paths", "file.stream.paths", "s3.local.folders")
_FAMILIES: Final = {"alerts.": WEBHOOK_URL, "rest.oidc.": "rest.oidc.issuer"}
_STORAGES: Final = ("config.storage.", "offset.storage.", "status.storage.")
_TOPIC: Final = frozenset({"topic", "partitions", "replication.factor"})


def broken_values(worker: WorkerConfig) -> Iterator[ConfigProblem]:
    """Yield what a worker does not start with, or what others would not reach it by."""
    for begin in (lambda: response_headers(worker), lambda: origin_patterns(worker)):
        try:
            begin()
        except ConfigError as error:
            yield from error.problems
    if worker.rest_audit_log_file and (why := _unwritable(Path(worker.rest_audit_log_file))):
        yield ConfigProblem("rest.audit.log.file", f"{worker.rest_audit_log_file} of rest.audit.log.file {why}.")
    for key, host in (
        ("rest.advertised.host.name", worker.rest_advertised_host_name),
        ("rest.advertised.certificate.name", worker.rest_advertised_certificate_name),
    ):
        if host and not _HOST.fullmatch(host):
            text = f"Invalid value {host} for configuration {key}: it is no name or address of a host."
            yield ConfigProblem(key, text)
    wanted = (worker.rest_advertised_listener or "").lower()
    if wanted and not any(address.lower().startswith(f"{wanted}:") for address in worker.listeners):
        yield ConfigProblem(
            "rest.advertised.listener",
            f"rest.advertised.listener={wanted} names a listener that listeners does not have: other workers would "
            f"speak {wanted} to a port that does not. Add {wanted}://… to listeners, or leave the key out.",
        )


def keys_without_effect(worker: WorkerConfig, catalog: Catalog) -> Iterator[str]:
    """Yield a sentence for each key whose value does nothing, in the words `KEY has no effect: WHY`."""
    given = worker.originals
    for key, why in (
        *_entries(worker),
        *_lonely(worker, given),
        *_storages(given),
        *_security(worker, given),
        *_converters(given, catalog),
    ):
        yield f"{key} has no effect: {why}"


def _entries(worker: WorkerConfig) -> Iterator[tuple[str, str]]:
    given = worker.originals
    for key in _FOLDERS:
        for path in _parts(given.get(key, "")):
            if not Path(path).is_absolute():
                yield key, f"{path} is no absolute path"
            elif not Path(path).exists():
                yield key, f"there is no {path} on this machine"
    for name in worker.python_function_modules:
        if not _is_installed(name):
            yield "python.function.modules", f"there is no module {name} beside this worker"
    yield from _of_form(given, "jdbc.sqlalchemy.drivers", _DRIVER, "DIALECT+DRIVER, as mssql+pymssql")
    yield from _of_form(given, "rest.allowed.hosts", _HOST_ENTRY, "a name as in the Host header, without http://")
    yield from _of_form(given, LOGIN_ADDRESSES, _HOST_PORT, "HOST:PORT, as kafka-2:9092")
    yield from _of_form(given, "access.control.allow.origin", _ORIGIN, "*, or https://HOST")
    for key in ("rest.oidc.user.claim", "rest.oidc.groups.claim"):
        yield from _of_form(given, key, _CLAIM, "the name of a claim")
    for method in _parts(given.get("access.control.allow.methods", "")):
        if method.upper() not in _METHODS:
            yield "access.control.allow.methods", f"{method} is no method of HTTP"


def _lonely(worker: WorkerConfig, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield keys that need another one."""
    if "access.control.allow.methods" in given and not (worker.access_control_allow_origin or "").strip():
        yield "access.control.allow.methods", "access.control.allow.origin allows no origin"
    for prefix, needed in _FAMILIES.items():
        if needed not in given:
            yield from ((key, f"{needed} is not set") for key in given if key.startswith(prefix))
    policy = policy_name(worker.connector_client_config_override_policy)
    allowlist = "connector.client.config.override.allowlist"
    if allowlist in given and policy != "Allowlist":
        yield allowlist, f"connector.client.config.override.policy is {policy}, not Allowlist"
    if policy == "Allowlist" and not worker.connector_client_config_override_allowlist:
        yield (
            "connector.client.config.override.policy",
            f"Allowlist allows what {allowlist} names, and it names nothing",
        )
    if not _has_https(worker):
        yield from ((key, "listeners has no https address") for key in given if key.startswith(LISTENERS))


def _storages(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    own = {definition.name for definition in WorkerConfig.definitions()}
    for key in given:
        prefix = next((prefix for prefix in _STORAGES if key.startswith(prefix)), None)
        if prefix is None or key in own or key == "offset.storage.file.filename":
            continue
        setting = key.removeprefix(prefix)
        if key == "config.storage.partitions":
            yield key, "the config topic has one partition always"
        elif setting not in TOPIC_SETTINGS:
            yield key, f"Kafka's topics have no such setting{_meant(setting, _TOPIC | TOPIC_SETTINGS)}"


def _security(worker: WorkerConfig, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield settings of a protocol that no client and no listener speaks."""
    protocols = {value.upper() for key, value in given.items() if key.endswith("security.protocol")} or {"PLAINTEXT"}
    own = {key: value for key, value in given.items() if key.startswith(("ssl.", "sasl."))}
    known = translate_security(own).consumed
    # The file alone does not tell which connectors there will be.
    others = "; only connectors that override security.protocol use it" if may_override(worker, _PROTOCOL) else ""
    for key in own:
        if key not in known:
            yield key, f"no client knows it{_meant(key, _known_security())}"
        elif key.startswith("sasl.") and not any("SASL" in protocol for protocol in protocols):
            yield key, f"security.protocol is not SASL_SSL or SASL_PLAINTEXT{others}"
        elif key.startswith("ssl.") and not any("SSL" in protocol for protocol in protocols) and not _has_https(worker):
            yield key, f"security.protocol is not SSL or SASL_SSL, and listeners has no https address{others}"
    tls = {key.removeprefix(LISTENERS): key for key in given if key.startswith(LISTENERS)}
    known = translate_security({name: given[key] for name, key in tls.items()}).consumed
    for name, key in tls.items():
        if name not in known:
            yield key, f"no listener knows it{_meant(name, _known_security())}"


def _converters(given: Mapping[str, str], catalog: Catalog) -> Iterator[tuple[str, str]]:
    for side, kind in CONVERTERS.items():
        prefix = f"{side}.converter."
        plugin = catalog.find(given.get(f"{side}.converter", "").strip(), kind)
        if plugin is None:
            continue
        known = {definition.name for definition in plugin.config.definitions()} | {"plugin.version", "type"}
        for key in given:
            name = key.removeprefix(prefix)
            if key.startswith(prefix) and name not in known and not name.startswith(plugin.config.families):
                yield key, f"{plugin.name.rpartition('.')[2]} does not know it{_meant(name, known)}"


def _of_form(given: Mapping[str, str], key: str, form: re.Pattern[str], shown: str) -> Iterator[tuple[str, str]]:
    for part in _parts(given.get(key, "")):
        if not form.fullmatch(part):
            yield key, f"{part} is not of the form {shown}"


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _meant(name: str, known: Iterable[str]) -> str:
    likely = nearest(name, known)
    return f". Is {likely} meant?" if likely else ""


def _known_security() -> Iterable[str]:
    return (
        "ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type", "ssl.key.password",
        "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type", "ssl.client.auth",
        "ssl.endpoint.identification.algorithm", "sasl.mechanism", "sasl.jaas.config",
    )  # fmt: skip


def _has_https(worker: WorkerConfig) -> bool:
    return any(address.lower().startswith("https:") for address in worker.listeners)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # its package is missing, or it is no name of a module
        return False


def _unwritable(file: Path) -> str:
    """Return why a file cannot be written, as the end of a sentence; an empty text: it can."""
    if file.is_dir():
        return "is a folder"
    if not file.absolute().parent.is_dir():
        return "is in a folder that does not exist"
    there = file if file.exists() else file.absolute().parent
    return "" if os.access(there, os.W_OK) else "may not be written by this user"
