"""One declaration of a plug-in's settings: parses, validates (all broken keys at once), feeds REST, docs and forms.

A setting is a field of a `Config` subclass; its text form is what Kafka Connect's ConfigDef accepts, its messages are
ConfigDef's (org.apache.kafka.common.config.ConfigDef, Kafka 4.1):

    class FileConfig(ConnectorConfig):
        file: String = key("file", doc="The file to read.")
        batch_size: Annotated[Int, at_least(1)] = key("batch.size", 2000, doc="Lines per batch.", importance="low")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
)
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from connect.api.allowed import OneOf, Range
from connect.api.errors import ConfigError, ConfigProblem
from connect.api.javatext.numbers import parse_real, parse_whole
from connect.api.key_role import KeyRole
from connect.api.nearest import nearest
from connect.api.secrets import HIDDEN, Credentials, masked

Importance = Literal["high", "medium", "low"]
Width = Literal["none", "short", "medium", "long"]


class ConfigType(StrEnum):
    """ConfigDef's types that REST clients know; a further one would break them."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105 - the name of a type


_BLANK: Final = "".join(map(chr, range(33)))
"""What Java's `String.trim` takes away: controls and space, and no space of other scripts."""
_COMMA: Final = re.compile(r"\s*,\s*", re.ASCII)


def _parse_boolean(value: object) -> object:
    text = value.strip(_BLANK).lower() if isinstance(value, str) else value
    if text in {"true", True}:
        return True
    if text in {"false", False}:
        return False
    raise ValueError("Expected value to be either true or false")


def _parse_whole(name: str, bits: int) -> Callable[[object], object]:
    def parse(value: object) -> object:
        try:
            number = parse_whole(value.strip(_BLANK), bits) if isinstance(value, str) else value
        except ValueError:
            number = None
        if (
            isinstance(number, bool)
            or not isinstance(number, int)
            or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)
        ):
            raise ValueError(f"Not a number of type {name}")
        return number

    return parse


def _parse_double(value: object) -> object:
    try:
        return parse_real(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("Not a number of type DOUBLE") from None


def parse_list(value: object) -> object:
    """A LIST as ConfigDef reads its text."""
    if isinstance(value, str):
        text = value.strip(_BLANK)
        return tuple(_COMMA.split(text)) if text else ()
    return value


def parse_text(value: object) -> object:
    """A STRING as ConfigDef reads it: trimmed."""
    return value.strip(_BLANK) if isinstance(value, str) else value


Boolean = Annotated[bool, ConfigType.BOOLEAN, BeforeValidator(_parse_boolean)]
String = Annotated[str, ConfigType.STRING, BeforeValidator(parse_text)]
Int = Annotated[int, ConfigType.INT, BeforeValidator(_parse_whole("INT", 32))]
Short = Annotated[int, ConfigType.SHORT, BeforeValidator(_parse_whole("SHORT", 16))]
Long = Annotated[int, ConfigType.LONG, BeforeValidator(_parse_whole("LONG", 64))]
Double = Annotated[float, ConfigType.DOUBLE, BeforeValidator(_parse_double)]
ListOf = Annotated[tuple[str, ...], ConfigType.LIST, BeforeValidator(parse_list)]
ClassName = Annotated[str, ConfigType.CLASS, BeforeValidator(parse_text)]
Password = Annotated[SecretStr, ConfigType.PASSWORD, BeforeValidator(parse_text)]


def one_of(*values: str, ignore_case: bool = False) -> OneOf:
    """Accept only these values."""
    return OneOf(values, ignore_case)


def at_least(least: float) -> Range:
    """Accept numbers from `least` up."""
    return Range(least)


def between(least: float, most: float) -> Range:
    """Accept numbers from `least` to `most`."""
    return Range(least, most)


def _check_non_empty(value: str) -> str:
    if not value:
        raise ValueError("String must be non-empty")
    return value


non_empty: Final = AfterValidator(_check_non_empty)
"""Accept no empty text."""


def key(
    name: str,
    default: object = ...,
    *,
    doc: str,
    importance: Importance = "medium",
    group: str = "Connector",
    width: Width = "medium",
    display_name: str = "",
    dependents: Sequence[str] = (),
    internal: bool = False,
    from_worker: bool = False,
    role: KeyRole = KeyRole.NONE,
) -> Any:
    """Declare a setting. No default means the setting is required. `internal` settings are accepted but not shown.

    `from_worker`: a leave that only the worker's own file gives, under the same key; see `Config.with_leave`.
    """
    extra: JsonDict = {
        "importance": importance.upper(), "group": group, "width": width.upper(), "display_name": display_name or name,
        "dependents": list(dependents), "internal": internal or from_worker, "from_worker": from_worker,
        "role": role.value,
    }  # fmt: skip
    return Field(default, alias=name, description=doc, json_schema_extra=extra)


@dataclass(frozen=True, slots=True)
class KeyDefinition:
    """One setting as REST clients, docs and forms see it. `default` None: none, or null.

    `allowed`: which numbers are taken.
    """

    name: str
    type: ConfigType
    required: bool
    default: str | None
    importance: str
    doc: str
    group: str
    width: str
    display_name: str
    dependents: tuple[str, ...]
    recommended_values: tuple[str, ...]
    internal: bool
    from_worker: bool = False
    has_credentials: bool = False
    role: KeyRole = KeyRole.NONE
    allowed: str = ""

    def shown(self, text: str | None) -> str | None:
        """A value of this setting as a person may see it."""
        if text is None or self.type is not ConfigType.PASSWORD:
            return masked(text) if text and self.has_credentials else text
        return HIDDEN


@dataclass(frozen=True, slots=True)
class KeyValue:
    """One setting's value as given and what is wrong with it; a secret's value is `[hidden]`."""

    name: str
    value: str | None
    errors: tuple[str, ...] = ()
    recommended_values: tuple[str, ...] = ()
    visible: bool = True


class Config(BaseModel):
    """Base of every declaration. Unknown keys are accepted and ignored, as Kafka Connect does; see `unknown_keys`."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
        validate_default=False,
        arbitrary_types_allowed=True,
        defer_build=True,  # most declarations are never asked in a process, and a worker starts with dozens of them
    )
    _originals: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def parse(cls, properties: Mapping[str, str | None]) -> Self:
        """The typed settings. ConfigError lists every broken key; no message holds a secret's value."""
        given = {k: v for k, v in properties.items() if v is not None}
        try:
            config = cls.model_validate(given)
        except ValidationError as error:
            raise ConfigError(_problems(cls, given, error)) from None
        leave = {d.name for d in cls.definitions() if d.from_worker}
        own = {name: text for name, text in given.items() if name not in leave}
        config._originals = MappingProxyType(own)  # noqa: SLF001 - our own instance, just built
        problems = tuple(config.problems())
        if problems:
            raise ConfigError(problems)
        return config

    @classmethod
    def with_leave(cls, properties: Mapping[str, str], worker: Mapping[str, str]) -> dict[str, str]:
        """The properties to parse: keys declared `from_worker` have the worker's value, whatever a connector says."""
        leave = {d.name for d in cls.definitions() if d.from_worker}
        given = {name: text for name, text in properties.items() if name not in leave}
        return given | {name: worker[name] for name in leave if name in worker}

    def problems(self) -> Iterable[ConfigProblem]:
        """What is wrong between keys; asked only when every key alone is right. The default finds nothing."""
        return ()

    def notes(self) -> Iterable[ConfigProblem]:
        """What their user should know of settings that are right: what they weaken or leave undone, and the key that
        helps. Shown by validation, the log and the status; the default knows nothing."""
        return ()

    @property
    def originals(self) -> Mapping[str, str]:
        """Every key of the connector as given, unknown ones included. May hold secrets: never log it."""
        return self._originals

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """The given keys that start with `prefix`, without it. May hold secrets."""
        return {k.removeprefix(prefix): v for k, v in self._originals.items() if k.startswith(prefix)}

    @classmethod
    def definitions(cls) -> tuple[KeyDefinition, ...]:
        """Every setting in declaration order."""
        return _definitions(cls)

    @classmethod
    def validate_keys(cls, properties: Mapping[str, str | None]) -> tuple[KeyValue, ...]:
        """Every setting with its value and its errors; nothing is raised."""
        errors: dict[str, list[str]] = {}
        try:
            cls.parse(properties)
        except ConfigError as error:
            for problem in error.problems:
                errors.setdefault(problem.key, []).append(problem.message)
        values = []
        for definition in cls.definitions():
            given = properties.get(definition.name)
            text = definition.shown(definition.default if given is None else given)
            found = tuple(errors.pop(definition.name, ()))
            values.append(KeyValue(definition.name, text, found, definition.recommended_values))
        values.extend(KeyValue(name, properties.get(name), tuple(found)) for name, found in errors.items())
        return tuple(values)

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[tuple[str, str | None]]:
        """Keys this declaration does not know, each with the nearest known one."""
        known = [d.name for d in cls.definitions()]
        for name in properties:
            if name not in known:
                yield name, nearest(name, known)


class ConnectorConfig(Config):
    """Base of a connector's declaration: its own keys only; the framework declares and checks its own."""

    @property
    def named_topics(self) -> tuple[str, ...]:
        """A sink's topics that `topics` names one by one; none where `topics.regex` chooses them."""
        named = parse_list(self.originals.get("topics", ""))
        assert isinstance(named, tuple)
        return named


def _marks(info: FieldInfo) -> tuple[object, ...]:
    """What the type is annotated with, inside `X | None` too."""
    return (*info.metadata, *(m for part in get_args(info.annotation) for m in getattr(part, "__metadata__", ())))


@cache
def _definitions(cls: type[Config]) -> tuple[KeyDefinition, ...]:
    return tuple(_definition(info) for info in cls.model_fields.values() if info.alias is not None)


def _definition(info: FieldInfo) -> KeyDefinition:
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    marks = _marks(info)
    kind = next(m for m in marks if isinstance(m, ConfigType))
    choices = next((m.values for m in marks if isinstance(m, OneOf)), ())
    required = info.is_required()
    dependents = extra.get("dependents")
    return KeyDefinition(
        name=info.alias or "",
        type=kind,
        required=required,
        default=None if required else text_of(info.default),
        importance=str(extra.get("importance", "MEDIUM")),
        doc=info.description or "",
        group=str(extra.get("group", "")),
        width=str(extra.get("width", "MEDIUM")),
        display_name=str(extra.get("display_name", "")),
        dependents=tuple(str(d) for d in dependents) if isinstance(dependents, list) else (),
        recommended_values=choices,
        internal=bool(extra.get("internal")),
        from_worker=bool(extra.get("from_worker")),
        has_credentials=any(isinstance(m, Credentials) for m in marks),
        role=KeyRole(str(extra.get("role", ""))),
        allowed=next((str(m) for m in marks if isinstance(m, Range)), ""),
    )


def text_of(value: object) -> str | None:
    """A value in ConfigDef's text form; a secret becomes `[hidden]`, None stays None."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case tuple() | list():
            return ",".join(str(part) for part in value)
        case SecretStr():
            return HIDDEN
        case _:
            return str(value)


def _problems(cls: type[Config], given: Mapping[str, str], error: ValidationError) -> Iterator[ConfigProblem]:
    declared = {d.name: d for d in cls.definitions()}
    for detail in error.errors(include_input=False, include_url=False):
        name = str(detail["loc"][0]) if detail["loc"] else ""
        if detail["type"] == "missing":
            yield ConfigProblem(name, f'Missing required configuration "{name}" which has no default value.')
            continue
        cause = detail.get("ctx", {}).get("error")
        why = str(cause) if cause is not None else detail["msg"]
        value = given.get(name, "null")
        shown = declared[name].shown(value) if name in declared else value
        yield ConfigProblem(name, f"Invalid value {shown} for configuration {name}: {why}")
