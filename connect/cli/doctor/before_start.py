"""Examines a worker's file on the machine where the worker is to start; no worker has to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from connect.api.errors import ConfigError
from connect.api.plugin import PluginKind
from connect.client.manifests import Manifest
from connect.cluster.model.request_errors import RequestError
from connect.cluster.validation.check import Validator
from connect.cluster.worker_file import read_worker_file, worker_config
from connect.doctor.examination import examined
from connect.doctor.gathering.gather import gathered
from connect.doctor.model.facts import ConnectorFacts
from connect.doctor.model.findings import Finding, Severity
from connect.plugins.catalog import Catalog
from connect.rest.server.secrets import Secrets
from connect.runtime.settings.config_providers import config_providers
from connect.runtime.settings.worker_config import WorkerConfig


def examined_before_start(file: Path, manifests: Sequence[Manifest]) -> list[Mapping[str, str]]:
    """Return the findings about a worker's file and connectors that it is to run. ConfigError: there is no such
    file.
    """
    given, catalog = read_worker_file(file), Catalog.installed()
    try:
        worker = worker_config(given.properties, catalog)
    except ConfigError as error:
        return [_broken(problem.key, problem.message).as_json() for problem in error.problems]
    connectors = [_connector(worker, catalog, manifest) for manifest in manifests]
    configs = {manifest.name: manifest.config for manifest in manifests}
    untried = [
        f"Connector {name} was not asked whether it reaches its target: that takes a running worker."
        for name in configs
    ]
    facts = gathered(worker, connectors, configs, is_running=False, file_notes=given.notes, not_asked=untried)
    return [finding.as_json() for finding in examined(facts)]


def _broken(key: str, message: str) -> Finding:
    return Finding(
        Severity.ERROR, "worker file", message, "No worker starts with it; nothing else was looked at.", f"{key}=..."
    )


def _connector(worker: WorkerConfig, catalog: Catalog, manifest: Manifest) -> ConnectorFacts:
    config = {"name": manifest.name, **manifest.config}
    secrets = Secrets(catalog, worker.config_providers)
    validator = Validator(catalog, worker, config_providers(worker.originals, catalog).resolve)
    errors: dict[str, Sequence[str]] = {}
    notes: Sequence[str] = ()
    is_sink = "topics" in config
    try:
        is_sink = validator.plugin(config).kind is PluginKind.SINK
        infos = secrets.mask_infos(validator.validate(config), config)
    except RequestError as error:
        errors["connector.class"] = [secrets.hide(error.message, config)]
    else:
        errors |= {info.value.name: info.value.errors for info in infos.configs if info.value.errors}
        notes = infos.notes
    topics = [topic.strip() for topic in config.get("topics", "").split(",") if topic.strip()] if is_sink else []
    return ConnectorFacts(manifest.name, is_sink, secrets.mask(config), errors, notes, topics)
