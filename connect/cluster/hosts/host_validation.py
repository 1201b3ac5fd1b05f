"""Validation where values of config providers are looked up: in a task host. No value leaves it.

A configuration without placeholders is validated by the worker itself, which is sooner done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from connect.cluster.model.request_errors import BadRequestError, FailedRequestError, RequestError
from connect.cluster.model.validation_infos import ConfigInfos
from connect.cluster.validation.check import Validator
from connect.runtime.parts.clients import Clients
from connect.telemetry.secret_texts import SECRET_TEXTS

_REFUSALS: Final = {kind.__name__: kind for kind in (BadRequestError, FailedRequestError)}


def validate_in_host(clients: Clients, config: Mapping[str, str]) -> dict[str, Any]:
    """Return what `validated` understands: ConfigInfos, or the refusal of a request. For task hosts."""
    try:
        infos = Validator(clients.catalog, clients.worker, clients.configs.resolve).validate(config)
    except RequestError as error:
        return {"refusal": type(error).__name__, "message": SECRET_TEXTS.shown(error.message)}
    return {"infos": _without_secrets(infos).as_json()}


def _without_secrets(infos: ConfigInfos) -> ConfigInfos:
    """Return the answer without what a provider gave for a part of a value, whichever key an error is about."""
    hide = SECRET_TEXTS.shown
    configs = [replace(i, value=replace(i.value, errors=tuple(map(hide, i.value.errors)))) for i in infos.configs]
    return replace(infos, configs=tuple(configs), notes=tuple(map(hide, infos.notes)))


def validated(said: Mapping[str, Any]) -> ConfigInfos:
    """Return the answer of a host. RequestError as `Validator.validate` raises it."""
    if "infos" not in said:
        raise _REFUSALS[said["refusal"]](said["message"])
    return ConfigInfos.of_json(said["infos"])
