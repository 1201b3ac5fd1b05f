"""Examines a worker's file on the machine where the worker is to start; no worker has to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import wait as await_all
from dataclasses import replace
from pathlib import Path
from typing import Final

from connect.api.errors import ConfigError, ConfigProblem
from connect.api.plugin import PluginKind
from connect.cli.doctor.unusable_values import broken_values, keys_without_effect
from connect.client.manifests import Manifest
from connect.cluster.model.request_errors import RequestError
from connect.cluster.validation.check import Validator
from connect.cluster.worker_file import read_worker_file, worker_config
from connect.doctor.examination import examined
from connect.doctor.gathering.gather import gathered
from connect.doctor.gathering.reach_facts import named_things
from connect.doctor.model.declared_topics import declared_topics
from connect.doctor.model.facts import ConnectorFacts
from connect.doctor.model.findings import Finding, Severity
from connect.kafka.client.trial import client_problems, unknown_client_keys
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.rest.certificates.covered_names import uncovered_names
from connect.rest.resources.checking import CLASS
from connect.rest.server.authentication import Login
from connect.rest.server.listeners import bind
from connect.rest.server.secrets import Secrets
from connect.rest.server.waiting import apart
from connect.runtime.parts.task_parts import build_connector
from connect.runtime.settings.config_providers import config_providers
from connect.runtime.settings.config_secrets import secret_texts
from connect.runtime.settings.worker_config import WorkerConfig
from connect.telemetry.secret_texts import SECRET_TEXTS

TRY_S: Final = 6.0
"""So long a connector may try its configuration."""
_WHY: Final = "No worker starts with it."
_CLIENTS_WHY: Final = "No client of Kafka can be made with it: what needs one fails as it starts."
_OF_CONNECTORS: Final = ("producer.", "consumer.")


def examined_before_start(file: Path, manifests: Sequence[Manifest]) -> list[Mapping[str, str]]:
    """Return the findings about a worker's file and connectors that it would run. ConfigError: no such file."""
    given, catalog = read_worker_file(file), Catalog.installed()
    try:
        worker = worker_config(given.properties, catalog)
    except ConfigError as error:
        return [_broken(problem.key, problem.message).as_json() for problem in error.problems]
    refused = client_problems(worker.originals)
    broken: list[Mapping[str, str]] = [
        _broken(problem.key, SECRET_TEXTS.shown(problem.message), _CLIENTS_WHY).as_json() for problem in refused
    ]
    if any(not problem.key.startswith(_OF_CONNECTORS) for problem in refused):
        return broken  # no broker can be asked with such settings
    configs = {manifest.name: {"name": manifest.name, **manifest.config} for manifest in manifests}
    declared = [_declared(worker, catalog, name, config) for name, config in configs.items()]
    enough = Deadline.after(TRY_S)
    tries = {one.name: apart(_tried, worker, catalog, configs[one.name]) for one in declared if not one.errors}
    unusable = [_broken(problem.key, problem.message, _WHY).as_json() for problem in _unusable(worker)]
    notes = [*given.notes, *(f"{key} has no effect: no client of that kind knows it; check its spelling"
                             for key in unknown_client_keys(worker.originals)),
             *keys_without_effect(worker, catalog)]  # fmt: skip
    facts = gathered(worker, catalog, declared, configs, is_running=False, file_notes=notes)
    await_all(tries.values(), timeout=max(0.1, enough.remaining_s))
    tried = {name: trying.result() for name, trying in tries.items() if trying.done()}
    connectors = [replace(one, errors=tried[one.name]) if one.name in tried else one for one in facts.connectors]
    late = [
        f"Connector {name} did not say in {TRY_S:.0f} s whether its configuration works."
        for name in tries.keys() - tried
    ]
    facts = replace(
        facts, connectors=connectors, not_asked=[*facts.not_asked, *sorted(late)],
        uncovered_names=uncovered_names(worker),
    )  # fmt: skip
    return [*broken, *unusable, *(finding.as_json() for finding in examined(facts))]


def _unusable(worker: WorkerConfig) -> Iterator[ConfigProblem]:
    """Yield what keeps a worker from serving: a taken port, certificates, the file of users."""
    for begin in (lambda: bind(worker).close(), lambda: Login(worker)):
        try:
            begin()
        except ConfigError as error:
            yield from error.problems
    yield from broken_values(worker)


def _broken(key: str, message: str, why: str = "No worker starts with it; nothing else was looked at.") -> Finding:
    return Finding(
        "worker-file-broken",
        Severity.ERROR,
        "worker file",
        message,
        why,
        f"{key}=...",
    )


def _declared(worker: WorkerConfig, catalog: Catalog, name: str, config: Mapping[str, str]) -> ConnectorFacts:
    """Return what declarations say of a configuration."""
    secrets = Secrets(catalog, worker.config_providers)
    validator = Validator(catalog, worker, config_providers(worker.originals, catalog).resolve)
    is_sink = "topics" in config
    errors: dict[str, Sequence[str]] = {}
    notes: Sequence[str] = ()
    try:
        is_sink = validator.plugin({**config}).kind is PluginKind.SINK
        infos = secrets.mask_infos(validator.validate({**config}), {**config})
    except RequestError as error:
        errors[CLASS] = [secrets.hide(error.message, {**config})]
    else:
        errors |= {info.value.name: info.value.errors for info in infos.configs if info.value.errors}
        notes = infos.notes
    topics = declared_topics(config, is_sink=is_sink)
    masked = secrets.mask(config)
    return ConnectorFacts(name, is_sink, masked, errors, notes, topics, named=named_things(catalog, masked))


def _tried(worker: WorkerConfig, catalog: Catalog, config: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what the connector itself finds wrong, such as a target that it does not reach, by key."""
    resolved = config_providers(worker.originals, catalog).resolve(config)
    SECRET_TEXTS.add(secret_texts(catalog, resolved))
    found: dict[str, list[str]] = {}
    try:
        build_connector(catalog, resolved, worker.originals).check(Deadline.after(TRY_S))
    except ConfigError as error:
        for problem in error.problems:
            found.setdefault(problem.key or CLASS, []).append(SECRET_TEXTS.shown(problem.message))
    except Exception as error:  # noqa: BLE001 - whatever a plug-in raises is what it finds
        found[CLASS] = [SECRET_TEXTS.shown(str(error))]
    return found
