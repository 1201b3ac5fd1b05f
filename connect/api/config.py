"""Defines how a plug-in declares its settings once, for parsing, validation (all keys at once), REST, docs and forms.

A setting is a field of a `Config` subclass; its text form is what Kafka Connect's ConfigDef accepts, its messages are
ConfigDef's (org.apache.kafka.common.config.ConfigDef, Kafka 4.1):

    class FileConfig(ConnectorConfig):
        file: String = key("file", doc="The file to read.")
        batch_size: Annotated[Int, at_least(1)] = key("batch.size", 2000, doc="Lines per batch.", importance="low")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal, Self, get_args

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

from connect.api.allowed import ConfigType, KeyValue, OneOf, Range
from connect.api.allowed_hosts import ALLOWED_HOSTS, PROFILE, AllowedHosts
from connect.api.allowed_paths import ALLOWED_PATHS, AllowedPaths
from connect.api.errors import ConfigError, ConfigProblem
from connect.api.reach import Reach, url_problems
from connect.lib.key_role import KeyRole
from connect.lib.secrets import HIDDEN, Credentials, masked_setting
from connect.lib.setting_text import parse_boolean, parse_double, parse_list, parse_text, text_of, whole_parser

Importance = Literal["high", "medium", "low"]
Width = Literal["none", "short", "medium", "long"]


Boolean = Annotated[bool, ConfigType.BOOLEAN, BeforeValidator(parse_boolean)]
String = Annotated[str, ConfigType.STRING, BeforeValidator(parse_text)]
Int = Annotated[int, ConfigType.INT, BeforeValidator(whole_parser("INT", 32))]
Short = Annotated[int, ConfigType.SHORT, BeforeValidator(whole_parser("SHORT", 16))]
Long = Annotated[int, ConfigType.LONG, BeforeValidator(whole_parser("LONG", 64))]
Double = Annotated[float, ConfigType.DOUBLE, BeforeValidator(parse_double)]
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
    reach: Reach | Sequence[Reach] = (),
    bounds: str = "",
    harmless: str = "",
    former: Sequence[str] = (),
) -> Any:
    """Declare a setting. A setting without a default is required. `internal` settings are accepted but not shown.

    `from_worker` says that the value is a permission that only the worker's own file gives; see `Config.with_leave`.
    `reach` is the kind of thing that the value names, beside what its type says (ClassName, Url); files are then
    checked against the worker's allowed.paths. `bounds` says what limits the value, if BOUNDS in `connect.api.reach`
    does not fit. `harmless` says why a key names no such thing although it sounds so. `former` are older names that
    still work.
    """
    reaches = (reach,) if isinstance(reach, Reach) else tuple(reach)
    extra: JsonDict = {
        "importance": importance.upper(), "group": group, "width": width.upper(), "display_name": display_name or name,
        "dependents": list(dependents), "internal": internal or from_worker, "from_worker": from_worker,
        "role": role.value, "reach": list(reaches), "bounds": bounds, "harmless": harmless,
        "former": list(former),
    }  # fmt: skip
    return Field(default, alias=name, description=doc, json_schema_extra=extra)


@dataclass(frozen=True, slots=True)
class KeyDefinition:
    """Holds one setting as REST clients, docs and forms see it. `default` is None if there is none, or if it is null.

    `allowed` says which numbers are taken, `reaches` which kinds of things it names. The others are as in `key`.
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
    reaches: tuple[Reach, ...] = ()
    bounds: str = ""
    harmless: str = ""
    former: tuple[str, ...] = ()

    def shown(self, text: str | None) -> str | None:
        """Return a value of this setting as a person may see it."""
        if text is None or self.type is not ConfigType.PASSWORD:
            return masked_setting(text) if text and self.has_credentials else text
        return HIDDEN


class Config(BaseModel):
    """Is the base of every declaration. It ignores unknown keys, as Kafka Connect does; see `unknown_keys`."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        hide_input_in_errors=True,
        validate_default=False,
        arbitrary_types_allowed=True,
        defer_build=True,  # Most declarations are never used in a process, and a worker starts with dozens of them.
    )
    families: ClassVar[tuple[str, ...]] = ()
    """Keys that begin with one of these texts have an effect although they are not declared."""
    _originals: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _leave: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _allowed: AllowedPaths = PrivateAttr(default_factory=AllowedPaths)
    _hosts: AllowedHosts = PrivateAttr(default_factory=lambda: AllowedHosts(None))

    @classmethod
    def parse(cls, properties: Mapping[str, str | None]) -> Self:
        """Return the typed settings. Raise ConfigError, which lists every broken key and holds no secret's value.

        The settings may name no file unless the properties say so: by what `with_leave` adds, or by `EVERYWHERE`.
        """
        given = {k: v for k, v in properties.items() if v is not None}
        try:
            config = cls.model_validate(cls.current_names(given))
        except ValidationError as error:
            raise ConfigError(_problems(cls, given, error)) from None
        config._take_leave(given)  # noqa: SLF001 - our own instance, just built
        secret = {d.name for d in cls.definitions() if d.type is ConfigType.PASSWORD}
        refused = (*config._allowed.problems(config.named_files(), secret), *config._refused_urls())  # noqa: SLF001 - as above
        problems = (*config.problems(), *refused, *config._hosts.problems(config.named_hosts()))  # noqa: SLF001 - as above
        if problems:
            raise ConfigError(problems)
        return config

    def _take_leave(self, given: Mapping[str, str]) -> None:
        names = leave_keys(type(self))
        self._originals = MappingProxyType({name: text for name, text in given.items() if name not in names})
        self._leave = MappingProxyType({name: given[name] for name in names if name in given})
        lists = {ALLOWED_PATHS, *(d.name for d in self.definitions() if d.from_worker and Reach.FILE in d.reaches)}
        self._allowed = AllowedPaths(path for name in sorted(lists) for path in _listed(given.get(name, "")))
        self._hosts = AllowedHosts.by(given)

    def _refused_urls(self) -> Iterator[ConfigProblem]:
        """Yield the problems of URLs: of other protocols where only HTTP is spoken, or any in place of a host."""
        for definition, value in self._given():
            texts = value if isinstance(value, tuple) else (value,)
            yield from url_problems(definition.name, definition.reaches, definition.bounds, texts)

    def _given(self) -> Iterator[tuple[KeyDefinition, Any]]:
        """Yield the settings that are not the worker's alone, with their values."""
        for field, definition in zip(_fields(type(self)), self.definitions(), strict=True):
            if not definition.from_worker:
                yield definition, getattr(self, field)

    @classmethod
    def current_names(cls, properties: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the properties with former names of keys replaced; where both are given, the new one counts."""
        now = former_names(cls)
        kept = (name for name in properties if name not in now or properties.get(now[name]) is None)
        return {now.get(name, name): properties[name] for name in kept}

    @classmethod
    def with_leave(cls, properties: Mapping[str, str], worker: Mapping[str, str]) -> dict[str, str]:
        """Return the properties to parse, with the permissions that the worker gives: the keys declared `from_worker`,
        and which paths and hosts may be named. They come from the worker's file alone, whatever a connector says.
        """
        leave = leave_keys(cls)
        given = {name: text for name, text in properties.items() if name not in leave}
        return given | {name: worker[name] for name in leave if name in worker}

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems of keys that do not fit together, if each key is right by itself. The default: none."""
        return ()

    def notes(self) -> Iterable[ConfigProblem]:
        """Return what the user should know about settings that are right: what they weaken or leave undone, and which
        key helps. Validation, the log and the status show it. The default returns nothing."""
        return ()

    def named_files(self) -> Iterable[tuple[str, str]]:
        """Return pairs of a key and a file or folder of this machine that it names; each is checked against `allowed`.
        The default returns the values of all keys of Reach.FILE. Override it if only some of their values are paths."""
        for definition, value in self._given():
            if Reach.FILE in definition.reaches:
                yield from ((definition.name, path) for path in _parts(value))

    def named_hosts(self) -> Iterable[tuple[str, str]]:
        """Return pairs of a key and a URL or `host:port` that it names; each is checked if the worker lists hosts.
        The default has the values of all keys of Reach.URL and Reach.HOST. Override it if they have another form."""
        for definition, value in self._given():
            if {Reach.URL, Reach.HOST} & {*definition.reaches} and definition.name in self._originals:
                yield from ((definition.name, part) for part in _parts(value))

    @property
    def allowed(self) -> AllowedPaths:
        """Return the files that the worker lets these settings name. Ask again before opening one: links may change."""
        return self._allowed

    def changed(self, changes: Mapping[str, str]) -> Self:
        """Return the settings with some values changed, and the worker's permissions. Raise ConfigError as `parse`."""
        return type(self).parse({**self._originals, **changes, **self._leave})

    @property
    def originals(self) -> Mapping[str, str]:
        """Return every key of the connector as given, also unknown ones. They may hold secrets: never log them."""
        return self._originals

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """Return the given keys that start with `prefix`, without it. They may hold secrets."""
        return {k.removeprefix(prefix): v for k, v in self._originals.items() if k.startswith(prefix)}

    @classmethod
    def definitions(cls) -> tuple[KeyDefinition, ...]:
        """Return every setting in declaration order."""
        return _definitions(cls)

    @classmethod
    def validate_keys(cls, properties: Mapping[str, str | None]) -> tuple[KeyValue, ...]:
        """Return every setting with its value and its errors; nothing is raised."""
        errors: dict[str, list[str]] = {}
        try:
            cls.parse(properties)
        except ConfigError as error:
            for problem in error.problems:
                errors.setdefault(problem.key, []).append(problem.message)
        values, named = [], cls.current_names(properties)
        for definition in cls.definitions():
            given = named.get(definition.name)
            text = definition.shown(definition.default if given is None else given)
            found = tuple(errors.pop(definition.name, ()))
            values.append(KeyValue(definition.name, text, found, definition.recommended_values))
        values.extend(KeyValue(name, properties.get(name), tuple(found)) for name, found in errors.items())
        return tuple(values)

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[str]:
        """Return the keys that are not taken. A subclass also leaves out those that it hands on, as to a driver."""
        known = {*(d.name for d in cls.definitions()), *former_names(cls)}
        return (name for name in properties if name not in known)


class ConnectorConfig(Config):
    """Is the base of a connector's declaration of its own keys; the framework declares and checks its own."""

    @property
    def named_topics(self) -> tuple[str, ...]:
        """Return a sink's topics that `topics` names one by one; none where `topics.regex` chooses them."""
        return _listed(self.originals.get("topics", ""))


def leave_keys(cls: type[Config]) -> frozenset[str]:
    """Return the keys whose values a declaration takes from the worker's own file alone."""
    own = {d.name for d in cls.definitions() if not d.from_worker}
    return frozenset(
        {ALLOWED_PATHS, ALLOWED_HOSTS, PROFILE, *(d.name for d in cls.definitions() if d.from_worker)} - own
    )


@cache
def former_names(cls: type[Config]) -> Mapping[str, str]:
    """Return the present name of each key by its former names."""
    return {old: d.name for d in cls.definitions() for old in d.former}


def _listed(text: str) -> tuple[str, ...]:
    found = parse_list(text)
    assert isinstance(found, tuple)
    return found


def _parts(value: object) -> Iterator[str]:
    """Yield the texts of a value, none where it is empty."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    yield from (str(part) for part in (text if isinstance(text, tuple) else (text,)) if part)


def _fields(cls: type[Config]) -> Iterable[str]:
    return (name for name, info in cls.model_fields.items() if info.alias is not None)


@cache
def _definitions(cls: type[Config]) -> tuple[KeyDefinition, ...]:
    return tuple(_definition(info) for info in cls.model_fields.values() if info.alias is not None)


def _marks(info: FieldInfo) -> tuple[object, ...]:
    """Return what the type is annotated with. The annotations inside `X | None` count, too."""
    return (*info.metadata, *(m for part in get_args(info.annotation) for m in getattr(part, "__metadata__", ())))


def _definition(info: FieldInfo) -> KeyDefinition:
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    marks = _marks(info)
    kind = next(m for m in marks if isinstance(m, ConfigType))
    choices = next((m.values for m in marks if isinstance(m, OneOf)), ())
    required = info.is_required()
    has_credentials = any(isinstance(m, Credentials) for m in marks)
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
        dependents=_texts(extra.get("dependents")),
        recommended_values=choices,
        internal=bool(extra.get("internal")),
        from_worker=bool(extra.get("from_worker")),
        has_credentials=has_credentials,
        role=KeyRole(str(extra.get("role", ""))),
        allowed=next((str(m) for m in marks if isinstance(m, Range)), ""),
        reaches=_reaches(kind, extra.get("reach"), has_credentials=has_credentials),
        bounds=str(extra.get("bounds", "")),
        harmless=str(extra.get("harmless", "")),
        former=_texts(extra.get("former")),
    )


def _texts(declared: object) -> tuple[str, ...]:
    return tuple(map(str, declared)) if isinstance(declared, list) else ()


def _reaches(kind: ConfigType, declared: object, *, has_credentials: bool) -> tuple[Reach, ...]:
    by_type = [Reach.CLASS] * (kind is ConfigType.CLASS) + [Reach.URL] * has_credentials
    return tuple(dict.fromkeys([*by_type, *map(Reach, _texts(declared))]))


def _problems(cls: type[Config], given: Mapping[str, str], error: ValidationError) -> Iterator[ConfigProblem]:
    declared = {d.name: d for d in cls.definitions()}
    for detail in error.errors(include_input=False, include_url=False):
        name = str(detail["loc"][0]) if detail["loc"] else ""
        if detail["type"] == "missing":
            yield ConfigProblem(name, f'Missing required configuration "{name}" which has no default value.')
            continue
        cause = detail.get("ctx", {}).get("error")
        why = str(cause) if cause is not None else detail["msg"]
        former = declared[name].former if name in declared else ()
        written = next((old for old in former if old in given and name not in given), name)
        value = given.get(written, "null")
        shown = declared[name].shown(value) if name in declared else value
        yield ConfigProblem(name, f"Invalid value {shown} for configuration {written}: {why}")
