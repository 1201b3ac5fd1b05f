"""Serves `/connector-plugins…`: lists what is installed and its keys, and validates configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from aiohttp import web
from pydantic import Field

from connect.api.plugin import Plugin
from connect.cluster.model.request_errors import NotFoundError, RequestError
from connect.cluster.validation.definitions import all_definitions
from connect.cluster.validation.versions import parse_versions
from connect.plugins.catalog import CONNECTORS, LISTED, Catalog
from connect.rest.access.role import Role
from connect.rest.errors.http_error import HttpError, status_of
from connect.rest.resources.checking import checked, restored, with_problems
from connect.rest.resources.own_shapes import BrokenPlugin
from connect.rest.resources.shapes import Config, Definition, PluginInfo, Validation
from connect.rest.server.answers import definition_json, json_answer, plugin_json
from connect.rest.server.context import context_of
from connect.rest.server.json_body import read_config
from connect.rest.server.rights import require
from connect.rest.server.routing import Route, flag, name_of
from connect.runtime.settings.config_providers import BUILT_IN

NOTES: Final = "X-Connect-Notes"
_HEADER_CHARS: Final = 2000


async def list_plugins(request: web.Request) -> web.Response:
    """Return the connector plug-ins; with `connectorsOnly=false` those of other kinds, too."""
    kinds = CONNECTORS if flag(request, "connectorsOnly", default=True) else LISTED
    return json_answer([plugin_json(plugin) for plugin in context_of(request).catalog.plugins(*kinds)])


async def list_broken(request: web.Request) -> web.Response:
    """Entry points that could not be used, with their errors."""
    broken = context_of(request).catalog.broken()
    return json_answer([{"name": b.name, "value": b.value, "error": b.error} for b in broken])


async def get_definitions(request: web.Request) -> web.Response:
    """Return the keys of a plug-in of any kind; of one version with `version`."""
    plugin = plugin_of(request, name_of(request))
    return json_answer([definition_json(definition) for definition in all_definitions(plugin)])


async def validate(request: web.Request) -> web.Response:
    """Tell what is right and wrong with a configuration, and store nothing.

    What is worth knowing of it, such as a key that nobody knows, is the header X-Connect-Notes, and with `notes=true`
    the member `notes` too: without that the answer has Java's members alone, as its clients may check.
    """
    wanted = name_of(request)
    config = await read_config(request)
    # Its masked secrets stand for those of the connector that it names.
    if name := config.get("name"):
        require(request, name)
    given = config.get("connector.class")
    if given is not None and not _same_type(wanted, given):
        raise HttpError(400, f"Included connector type {given} does not match request type {wanted}")
    whole, problems = await restored(request, config.get("name"), config)
    try:
        infos = await checked(request, whole)
    except RequestError as error:
        if status_of(error) != 400:
            raise
        # Kafka Connect 4.1 wraps this refusal here, while it answers 400 with the plain text when a connector is
        # created.
        text = f"org.apache.kafka.connect.runtime.rest.errors.BadRequestException: {error.message}"
        raise HttpError(500, text) from error
    answer = with_problems(infos, problems).as_json()
    notes = answer.get("notes", ())
    if not flag(request, "notes"):
        answer.pop("notes", None)
    told = json_answer(answer)
    if notes:
        told.headers[NOTES] = _in_header(notes)
    return told


def _in_header(notes: Sequence[str]) -> str:
    """Return as many of the notes as a header may hold, in ASCII."""
    text = " | ".join(notes).encode("ascii", "backslashreplace").decode()
    printable = "".join(character if character.isprintable() else "?" for character in text)
    return printable if len(printable) <= _HEADER_CHARS else f"{printable[:_HEADER_CHARS]}..."


def plugin_of(request: web.Request, name: str) -> Plugin:
    """Return the plug-in of a name, in the version that `version` asks for.

    NotFoundError: there is no such plug-in. HttpError 400: it is of another kind, or has no such version.
    """
    catalog = context_of(request).catalog
    versions = catalog.versions(name, *LISTED)
    if not versions:
        other = catalog.find(name) or Catalog(BUILT_IN).find(name)
        if other is not None:
            kinds = "sink, source, converter, header_converter, transformation, predicate"
            raise HttpError(400, f"Invalid plugin type {other.kind}. Valid types are {kinds}.")
        raise NotFoundError(f"Unknown plugin {name}.")
    wanted = request.query.get("version")
    if wanted is None:
        return versions[-1]
    try:
        ranges = parse_versions(wanted)
    except ValueError as error:
        raise HttpError(400, str(error)) from error
    fitting = [p for p in versions if any(p.version in accepted for accepted in ranges)]
    if not fitting:
        shown = ",".join(map(str, ranges))
        have = ", ".join(p.version for p in versions)
        text = f"Plugin {name} not found that matches the version range {shown}, available versions: [{have}]"
        raise HttpError(400, text)
    return fitting[-1]


def _same_type(wanted: str, given: str) -> bool:
    """Tell if the class in the body ends with the class in the path; either may lack the suffix `Connector`."""
    forms = (wanted, wanted.removesuffix("Connector"))
    own = (given, given.removesuffix("Connector"))
    return any(name == form or name.endswith(f".{form}") for name in own for form in forms)


ROUTES = (
    Route(
        "GET", "/connector-plugins", list_plugins, early=True, answers={200: list[PluginInfo]},
        query={"connectorsOnly": bool},
    ),
    Route("GET", "/connector-plugins-broken", list_broken, early=True, answers={200: list[BrokenPlugin]}),
    Route(
        "GET", "/connector-plugins/{plugin}/config", get_definitions, early=True, answers={200: list[Definition]},
        query={"version": str},
    ),
    Route(
        "PUT", "/connector-plugins/{plugin}/config/validate", validate, role=Role.EDITOR, body=Config,
        answers={200: Validation}, query={"notes": Annotated[bool, Field(description="Add what is worth knowing.")]},
    ),
)  # fmt: skip
