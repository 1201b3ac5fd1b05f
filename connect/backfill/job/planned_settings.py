"""Tells which settings of a job's connectors were changed since the job was planned. The job keeps no value of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from connect.api.errors import ConfigError
from connect.api.optional.bulk import PlannedSource
from connect.backfill.job.job import Job
from connect.backfill.job.kinds import JobConnectors
from connect.lib.secrets import is_suspect, masked_setting
from connect.plugins.catalog import Catalog
from connect.runtime.parts.connector_settings import ConnectorSettings
from connect.runtime.settings.config_secrets import secret_keys

Digests = Mapping[str, Mapping[str, str]]
_LENGTH = 12


def digests_of(connectors: JobConnectors) -> dict[str, dict[str, str]]:
    """Return a digest of each setting of each connector, by names, but for settings that may be secret."""
    return {one.name: _digests(one) for one in _settings(connectors)}


def require_as_planned(job: Job, connectors: JobConnectors) -> list[str]:
    """Return a warning for each connector with other settings than those with which the job was planned.

    ConfigError: the source says that the plan rests on one of them.
    """
    warnings = []
    for one in _settings(connectors):
        planned = job.configs.get(one.name)
        changed = [] if planned is None else sorted(_changed(planned, one))
        if not changed:
            continue
        if one is connectors.source:
            _require_plan_kept(job, connectors, changed)
        warnings.append(
            f"Connector {one.name} has other values of {', '.join(changed)} than when the job was planned: chunks that "
            "were written before have rows as of those."
        )
    return warnings


def _require_plan_kept(job: Job, connectors: JobConnectors, changed: list[str]) -> None:
    source = connectors.open_source()
    kept = [key for key in changed if isinstance(source, PlannedSource) and key in source.planned_by]
    if kept:
        raise ConfigError(
            f"Connector {connectors.following.name} has other values of {', '.join(kept)} than when backfill "
            f"{job.name} was planned: where its chunks end and the connector goes on was decided by those, and rows "
            "could be in neither.",
            key=kept[0],
            fix="Put them back until the job is handed over, or begin again under another name.",
        )


def _settings(connectors: JobConnectors) -> list[ConnectorSettings]:
    return [one for one in (connectors.source, connectors.sink) if one is not None]


def _digests(one: ConnectorSettings) -> dict[str, str]:
    # A digest gives a weak password to who guesses it, so those that a plug-in declares have none, whatever their name.
    secret = secret_keys(Catalog.installed(), one.connector)
    return {
        key: hashlib.sha256(masked_setting(text).encode()).hexdigest()[:_LENGTH]
        for key, text in one.connector.items()
        if key not in secret and not is_suspect(key)
    }


def _changed(planned: Mapping[str, str], one: ConnectorSettings) -> Iterator[str]:
    now = _digests(one)
    # Jobs of former builds have digests of what a plug-in declares as a password.
    without = secret_keys(Catalog.installed(), one.connector)
    return (key for key in (planned.keys() | now.keys()) - without if planned.get(key) != now.get(key))
