"""Serves `/doctor`: tells what is wrong around this worker and its connectors, or around a connector that is
planned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

from aiohttp import web

from connect.api.plugin import PluginKind
from connect.cluster.model.operations import Connectors
from connect.cluster.model.request_errors import NotFoundError, RequestError
from connect.doctor.examination import examined
from connect.doctor.gathering.gather import gathered
from connect.doctor.gathering.reach_facts import named_things
from connect.doctor.model.declared_topics import declared_topics
from connect.doctor.model.facts import ConnectorFacts, SealingFacts
from connect.doctor.model.findings import Finding
from connect.rest.access.role import Role
from connect.rest.certificates.covered_names import uncovered_names
from connect.rest.errors.http_error import HttpError
from connect.rest.resources.checking import CLASS, checked, restored
from connect.rest.resources.own_shapes import Examination
from connect.rest.resources.shapes import Config
from connect.rest.server.answers import json_answer
from connect.rest.server.context import RestContext, context_of
from connect.rest.server.json_body import read_own_config
from connect.rest.server.rights import IDENTITY, require, visible
from connect.rest.server.routing import Route
from connect.rest.server.waiting import MASKING, apart, finished, of_configs
from connect.runtime.task.condition import missed_rows
from connect.runtime.task.state import State

CHECK_S: Final = 4.0
"""All connectors together have this many seconds to try their configurations."""
_SIDE_BY_SIDE: Final = 8


async def examine(request: web.Request) -> web.Response:
    """Findings about the brokers, this worker, its machine, and the connectors that the sender may view."""
    return _answer(await examined_cluster(request))


async def examined_cluster(request: web.Request) -> list[Finding]:
    """Return what is wrong around this worker and the connectors that the sender may view, the worst first."""
    connectors = context_of(request).operations.connectors
    configs = {name: connectors.info(name).config for name in visible(request, connectors.names())}
    failures = {name: _failures(connectors, name) for name in configs}
    return await _examined(
        request, configs, failures=failures, missed={name: _missed(connectors, name) for name in configs}
    )


def _failures(connectors: Connectors, name: str) -> Mapping[str, str]:
    """Return by part why a connector and its tasks are FAILED; only the first lines of their traces."""
    try:
        status = connectors.status(name)
    except NotFoundError:  # no worker has reported anything of it yet
        return {}
    parts = {"connector": status.connector} | {f"task {number}": one for number, one in status.tasks.items()}
    traces = {part: one.trace or "" for part, one in parts.items() if one.state is State.FAILED}
    return {part: trace.partition("\n")[0] for part, trace in traces.items()}


def _missed(connectors: Connectors, name: str) -> Sequence[str]:
    """Return sentences of a connector's tasks about rows that they never read."""
    try:
        status = connectors.status(name)
    except NotFoundError:
        return ()
    return [text for number in sorted(status.tasks) for text in missed_rows(status.tasks[number].condition)]


async def examine_one(request: web.Request) -> web.Response:
    """The same with one connector alone, by a configuration that need not be stored."""
    config = await read_own_config(request)
    name = config.get("name") or ""
    require(request, name)
    whole, problems = await restored(request, name or None, config)
    given = {key: value for key, value in whole.items() if value is not None}
    errors = {problem.key: [problem.message] for problem in problems}
    return _answer(await _examined(request, {name: given}, errors, is_alone=True))


def _answer(found: Sequence[Finding]) -> web.Response:
    return json_answer({"findings": [finding.as_json() for finding in found]})


async def _examined(
    request: web.Request,
    configs: Mapping[str, Mapping[str, str]],
    known_errors: Mapping[str, Sequence[str]] | None = None,
    *,
    is_alone: bool = False,
    failures: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    missed: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[Finding]:
    """Ask the brokers, the machine and the connectors at once. With `is_alone` the findings list what the one connector
    reaches, too.
    """
    masked = await of_configs(request, configs.values(), MASKING, _masked, context_of(request), configs)
    declared = [_declared(request, name, config, masked[name]) for name, config in configs.items()]
    declared = [replace(one, failures=failures.get(one.name, {}), missed=missed.get(one.name, ())) for one in declared]
    catalog = context_of(request).validator.catalog
    if is_alone:
        declared = [replace(one, named=named_things(catalog, one.config)) for one in declared]
    gathering = apart(gathered, context_of(request).worker, catalog, declared, configs, is_running=True)
    naming = apart(uncovered_names, context_of(request).worker)
    turns = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def look(config: Mapping[str, str]) -> ValidatedConfig:
        async with turns:
            return await _look(request, config)

    looks = {name: asyncio.ensure_future(look(config)) for name, config in configs.items()}
    if looks:
        await asyncio.wait(looks.values(), timeout=CHECK_S)
    late = [name for name, looking in looks.items() if not looking.done()]
    for name in late:
        looks[name].cancel()
    facts = await finished(request, gathering, "gathering what the doctor judges")
    found = [
        one if one.name in late else _with(one, looks[one.name].result(), known_errors or {})
        for one in facts.connectors
    ]
    told = [f"Connector {name} did not say in {CHECK_S:.0f} s whether its configuration works." for name in late]
    # Roles name other users, which is for admins to know.
    may_know = not is_alone and request[IDENTITY].may_everywhere(Role.ADMIN)
    all_names = frozenset(context_of(request).operations.connectors.names()) if may_know else None
    facts = replace(
        facts, connectors=found, not_asked=[*facts.not_asked, *told], all_names=all_names,
        uncovered_names=await finished(request, naming, "judging the certificates of listeners"),
    )  # fmt: skip
    return examined(replace(facts, sealing=_visible_sealing(request, facts.sealing)))


def _visible_sealing(request: web.Request, sealing: SealingFacts | None) -> SealingFacts | None:
    """Return how the records of visible connectors are sealed, and the cluster's own, whose name is empty."""
    if sealing is None:
        return None

    def seen(names: frozenset[str]) -> frozenset[str]:
        return frozenset(visible(request, names)) | (names & {""})

    return replace(sealing, outdated=seen(sealing.outdated), closed=seen(sealing.closed))


class ValidatedConfig(NamedTuple):
    """Holds what validation and the connector said of a configuration."""

    errors: Mapping[str, Sequence[str]]
    notes: Sequence[str] = ()


def _with(facts: ConnectorFacts, look: ValidatedConfig, known: Mapping[str, Sequence[str]]) -> ConnectorFacts:
    return replace(facts, errors={**known, **look.errors}, notes=look.notes)


async def _look(request: web.Request, config: Mapping[str, str]) -> ValidatedConfig:
    try:
        infos = await checked(request, {**config})
    except (HttpError, RequestError) as error:
        return ValidatedConfig({CLASS: [error.message]})
    return ValidatedConfig(
        {info.value.name: info.value.errors for info in infos.configs if info.value.errors}, infos.notes
    )


def _masked(context: RestContext, configs: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    return {name: context.secrets.mask(config) for name, config in configs.items()}


def _declared(request: web.Request, name: str, config: Mapping[str, str], masked: Mapping[str, str]) -> ConnectorFacts:
    """Return what is known without asking anybody."""
    context = context_of(request)
    try:
        is_sink = context.validator.plugin({**config}).kind is PluginKind.SINK
    except RequestError:
        is_sink = "topics" in config
    named = declared_topics(config, is_sink=is_sink)
    try:
        used = context.operations.topics.used(name)
    except NotFoundError:
        used = ()
    return ConnectorFacts(name, is_sink, masked, topics=tuple(dict.fromkeys([*named, *used])))


ROUTES = (
    Route("GET", "/doctor", examine, answers={200: Examination}),
    Route("PUT", "/doctor", examine_one, role=Role.EDITOR, body=Config, answers={200: Examination}),
)
