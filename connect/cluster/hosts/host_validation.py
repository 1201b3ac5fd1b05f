"""Validates a configuration with the values of config providers in a task host. No such value leaves the host.

The worker itself validates a configuration without placeholders, as that is faster.
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
    """Validate, and return an answer for `validated`: ConfigInfos, or the error of the request. For task hosts."""
    try:
        infos = Validator(clients.catalog, clients.worker, clients.configs.resolve).validate(config)
    except RequestError as error:
        return {"refusal": type(error).__name__, "message": SECRET_TEXTS.shown(error.message)}
    return {"infos": _without_secrets(infos).as_json()}


def _without_secrets(infos: ConfigInfos) -> ConfigInfos:
    """Return the infos without the texts that a provider gave for parts of values, in the errors of all keys."""
    hide = SECRET_TEXTS.shown
    configs = [replace(i, value=replace(i.value, errors=tuple(map(hide, i.value.errors)))) for i in infos.configs]
    return replace(infos, configs=tuple(configs), notes=tuple(map(hide, infos.notes)))


def validated(said: Mapping[str, Any]) -> ConfigInfos:
    """Return the infos that a host answered. Raise RequestError as `Validator.validate` raises it."""
    if "infos" not in said:
        raise _REFUSALS[said["refusal"]](said["message"])
    return ConfigInfos.of_json(said["infos"])
