"""Checks configurations: first by the declarations of their keys, then by the connector itself.

The connector is asked in a task host, and its time is limited.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from aiohttp import web

from connect.api.errors import ConfigProblem, ConnectError
from connect.cluster.model.request_errors import NotFoundError, RequestError, UnavailableError
from connect.cluster.model.validation_infos import ConfigInfos
from connect.cluster.validation.check import with_nulls
from connect.cluster.validation.size import is_large
from connect.rest.errors.http_error import HttpError, status_of
from connect.rest.server.author import asker_of
from connect.rest.server.context import context_of, remaining_s
from connect.rest.server.waiting import MASKING, WaitTimeoutError, apart, finished, large, of_configs, within

log = logging.getLogger(__name__)
GRACE_S = 2.0
CLASS = "connector.class"
"""Errors that concern no key in particular are shown at this key."""
_IN_HOST = "The check in a task host (values of config providers, matches of topics.regex, large configurations)"


async def checked(request: web.Request, config: Mapping[str, str | None]) -> ConfigInfos:
    """Return the configuration's keys with everything that is wrong with them, in texts without secrets.

    A check that cannot be made counts as an error of `connector.class`; it does not let the request fail, unless the
    worker that would make it ends or is out of its group. HttpError 409 says so.
    """
    secrets = context_of(request).secrets
    try:
        infos = await _checked(request, config)
        if not is_large(config):
            return secrets.mask_infos(infos, config)
        return await large(request, MASKING, secrets.mask_infos, infos, config)
    except RequestError as error:
        raise HttpError(status_of(error), secrets.hide(error.message, config)) from error


async def _checked(request: web.Request, config: Mapping[str, str | None]) -> ConfigInfos:
    context = context_of(request)
    given = {key: value for key, value in config.items() if value is not None}
    timeout_s = min(context.check_timeout_s, remaining_s(request) / 2)
    infos = await _declared(request, config, given, timeout_s)
    if infos.error_count:
        return infos
    try:
        found = await within(context.operations.trials.check(given, timeout_s, asker_of(request)), timeout_s + GRACE_S)
    except (WaitTimeoutError, TimeoutError):
        return _not_tried(infos, f"did not end in {timeout_s:.0f} s, so whether it would work is not known")
    except UnavailableError:
        raise  # the next worker may find nothing wrong with this configuration
    except (ConnectError, RequestError) as error:
        return _not_tried(infos, f"could not be run: {error}")
    infos = infos.with_errors({key or CLASS: messages for key, messages in found.problems.items() if messages})
    return replace(infos, notes=(*infos.notes, *found.notes))


async def _declared(
    request: web.Request, config: Mapping[str, str | None], given: Mapping[str, str], timeout_s: float
) -> ConfigInfos:
    """Return what the declarations of its keys say about a configuration.

    A task host looks up values of config providers, which the worker must never hold. It also matches patterns and
    judges large configurations.
    """
    context = context_of(request)
    if not context.validator.needs_host(config):
        return await finished(request, apart(context.validator.validate, config), "validating the configuration")
    try:
        found = await within(
            context.operations.trials.validate(given, timeout_s, asker_of(request)), timeout_s + GRACE_S
        )
    except (WaitTimeoutError, TimeoutError):
        why = f"did not end in {timeout_s:.0f} s"
    except ConnectError as error:
        why = f"could not be run: {error}"
    else:
        return with_nulls(found, config)
    if is_large(config):
        infos = context.validator.unjudged(config)
    else:
        infos = await finished(request, apart(context.validator.validate, config), "validating the configuration")
    return infos.with_errors({CLASS: (f"{_IN_HOST} {why.rstrip('.')}.",)})


async def restored(
    request: web.Request, name: str | None, config: Mapping[str, str | None]
) -> tuple[dict[str, str | None], tuple[ConfigProblem, ...]]:
    """Return the configuration with masked secrets replaced by those stored under `name`, and the problems of masks for
    which no secret is stored.
    """
    context = context_of(request)
    try:
        stored = context.operations.connectors.info(name).config if name else None
    except NotFoundError:
        stored = None
    given = {key: value for key, value in config.items() if value is not None}
    return await of_configs(request, (given, stored or {}), MASKING, context.secrets.restore, config, stored)


async def ready(request: web.Request, name: str, config: Mapping[str, str | None]) -> dict[str, str]:
    """Return the configuration in the form in which it is stored. HttpError 400 lists what is wrong with it."""
    whole, problems = await restored(request, name, config)
    infos = with_problems(await checked(request, whole), problems)
    if infos.error_count:
        raise HttpError(400, infos.message())
    for note in infos.notes:
        log.info("The configuration of connector %s: %s", name, note)
    return {key: value for key, value in whole.items() if value is not None}


def with_problems(infos: ConfigInfos, problems: tuple[ConfigProblem, ...]) -> ConfigInfos:
    """Return the same infos with further problems."""
    return infos.with_errors({problem.key: (problem.message,) for problem in problems})


def _not_tried(infos: ConfigInfos, why: str) -> ConfigInfos:
    text = f"The connector's own check of its configuration (reach, credentials, rights) {why.rstrip('.')}."
    return infos.with_errors({CLASS: (text,)})
