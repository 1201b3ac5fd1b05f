"""Replaces placeholders of config providers, `${provider:[path:]key}`, where tasks run; the values are stored nowhere.

Semantics: org.apache.kafka.common.config.ConfigTransformer and the three providers of Kafka 4.1. An unknown provider, a
missing key and a path that is not allowed leave the text as it is. What a provider cannot read is a ConfigError. No
message and no log line holds a value.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Protocol, cast

from pydantic import AfterValidator

from connect import __version__
from connect.api.allowed_paths import ALLOWED_PATHS, AllowedPaths
from connect.api.config import Config, ListOf, String, key
from connect.api.errors import ConfigError, ConfigProblem, ConnectError
from connect.api.plugin import Plugin, PluginKind
from connect.lib.placeholders import placeholder_spans
from connect.lib.secret_parts import is_suspect, secret_spans
from connect.plugins.catalog import Catalog
from connect.runtime.settings.java_properties import parse_properties
from connect.telemetry.secret_texts import SECRET_TEXTS

log = logging.getLogger(__name__)

_OF_WORKER: Final = "worker.allowed.paths"
_PROVIDERS: Final = "config.providers"
_APACHE: Final = "org.apache.kafka.common.config.provider"
_USUAL: Final = {
    "file": f"{_APACHE}.FileConfigProvider",
    "directory": f"{_APACHE}.DirectoryConfigProvider",
    "env": f"{_APACHE}.EnvVarConfigProvider",
}


class Placeholder(NamedTuple):
    """Holds the parts of a `${provider:[path:]key}`; the path is empty where there is none."""

    provider: str
    path: str
    key: str


class ConfigProvider(Protocol):
    """Looks values up. What a plug-in of the kind `config_provider` builds from its parsed parameters."""

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        """Return the values of the keys that exist. Raise ConnectError, without a value, if they cannot be read."""


def placeholders(text: str) -> Iterator[Placeholder]:
    """Return the placeholders of a value in order, those of unknown providers included."""
    return (found for _, _, found in _found(text))


def replaced(text: str, values: Mapping[Placeholder, str]) -> str:
    """Return the text with every placeholder that has a value replaced by it; values are not looked into again."""
    made, at = [], 0
    for start, end, placeholder in _found(text):
        made += [text[at:start], values.get(placeholder, text[start:end])]
        at = end
    return "".join([*made, text[at:]])


class ConfigProviders:
    """The providers of a worker, each built when it is first asked for something. Any thread may ask."""

    def __init__(self, makers: Mapping[str, Callable[[], ConfigProvider]]) -> None:
        self._makers = makers
        self._built: dict[str, ConfigProvider] = {}
        self._building = threading.Lock()  # tasks look up values on their own threads

    def resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        """Return the configuration without placeholders. ConfigError names every key whose provider failed."""
        values: dict[Placeholder, str] = {}
        failures: dict[Placeholder, str] = {}
        used = {name: set(placeholders(text)) for name, text in config.items()}
        for (provider, path), keys in _grouped(p for found in used.values() for p in found):
            if provider not in self._makers:
                continue
            try:
                got = self._provider(provider).get(path, keys)
            except ConnectError as error:
                failures.update({Placeholder(provider, path, k): str(error) for k in keys})
            else:
                values.update({Placeholder(provider, path, k): got[k] for k in keys if k in got})
        problems = [
            ConfigProblem(name, f"Configuration {name}: {text}")
            for name, found in used.items()
            for text in sorted({failures[p] for p in found if p in failures})
        ]
        if problems:
            raise ConfigError(problems)
        SECRET_TEXTS.add(values.values())
        # A value that stands where no secret is expected may be shown as any word is.
        words = {values[p] for name, text in config.items() for p in _in_the_open(name, text) if p in values}
        SECRET_TEXTS.add(words, as_words=True)
        return {name: replaced(text, values) for name, text in config.items()}

    def _provider(self, name: str) -> ConfigProvider:
        with self._building:
            if name not in self._built:
                self._built[name] = self._makers[name]()
            return self._built[name]


def config_providers(worker: Mapping[str, str], catalog: Catalog) -> ConfigProviders:
    """Return the providers that a worker's `config.providers*` settings name. ConfigError lists every broken key.

    Loads no plug-in: a worker checks its settings so, and leaves the looking up to its task hosts.
    """
    known = Catalog([*catalog.plugins(PluginKind.CONFIG_PROVIDER), *BUILT_IN])
    names = [name.strip() for name in worker.get("config.providers", "").split(",")]
    makers: dict[str, Callable[[], ConfigProvider]] = {}
    problems: list[ConfigProblem] = []
    for name in filter(None, names):
        try:
            makers[name] = _maker(name, worker, known)
        except ConfigError as error:
            problems.extend(error.problems)
    if problems:
        raise ConfigError(problems)
    return ConfigProviders(makers)


def usual_providers(configs: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return worker settings with Apache Kafka's providers under their usual names, as far as `configs` name them.

    They stand in for the settings of a worker that is not known. Pure.
    """
    classes = {f"{_PROVIDERS}.{name}.class": found for name, found in _USUAL.items()}
    return providers_named_by(configs, {_PROVIDERS: ",".join(_USUAL), **classes})


def providers_named_by(configs: Iterable[Mapping[str, str]], worker: Mapping[str, str]) -> dict[str, str]:
    """Return the config providers of a worker that these configurations name, with their settings. Pure."""
    used = {found.provider for config in configs for value in config.values() for found in placeholders(value)}
    names = [name for name in map(str.strip, worker.get(_PROVIDERS, "").split(",")) if name in used]
    if not names:
        return {}
    of_these = tuple(f"{_PROVIDERS}.{name}." for name in names)
    return {_PROVIDERS: ",".join(names)} | {key: value for key, value in worker.items() if key.startswith(of_these)}


def _maker(name: str, worker: Mapping[str, str], known: Catalog) -> Callable[[], ConfigProvider]:
    class_key, prefix = f"config.providers.{name}.class", f"config.providers.{name}.param."
    class_name = worker.get(class_key, "").strip()
    plugin = known.find(class_name, PluginKind.CONFIG_PROVIDER)
    if plugin is None:
        there = ", ".join(sorted({p.name for p in known.plugins()}))
        raise ConfigError(
            f"Invalid value {class_name} for configuration {class_key}: Class {class_name} could not be found; "
            f"there are: {there}.",
            key=class_key,
        )
    parameters = {k.removeprefix(prefix): v for k, v in worker.items() if k.startswith(prefix)}
    try:
        config = plugin.config.parse(plugin.config.with_leave(parameters, worker))
    except ConfigError as error:
        raise ConfigError([ConfigProblem(prefix + p.key, p.message) for p in error.problems]) from error
    return lambda: cast("ConfigProvider", known.load(plugin)(config))


def _found(text: str) -> Iterator[tuple[int, int, Placeholder]]:
    """Yield where each placeholder starts and ends, and what it holds."""
    for start, end in placeholder_spans(text):
        provider, *rest = text[start + 2 : end - 1].split(":", 2)
        if rest:
            yield start, end, Placeholder(provider, rest[0] if len(rest) > 1 else "", rest[-1])


def _in_the_open(name: str, text: str) -> Iterator[Placeholder]:
    """Yield the placeholders of a setting that, by its name and the text around them, stand for no secret."""
    if is_suspect(name) or "${" not in text:
        return
    spans = secret_spans(text)
    for start, _, placeholder in _found(text):
        before = bisect_right(spans, start, key=lambda span: span[0]) - 1
        if before < 0 or start >= spans[before][1]:
            yield placeholder


def _grouped(found: Iterable[Placeholder]) -> Iterable[tuple[tuple[str, str], set[str]]]:
    """Return the keys of placeholders by provider and path, so that each file is read once."""
    groups: dict[tuple[str, str], set[str]] = {}
    for placeholder in found:
        groups.setdefault((placeholder.provider, placeholder.path), set()).add(placeholder.key)
    return groups.items()


def _check_paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    for path in paths:
        if not Path(path).is_absolute():
            raise ValueError(f"Path {path} is not absolute")
        if not Path(path).exists():
            raise ValueError(f"Path {path} does not exist")
    return paths


def _check_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"Invalid regular expression: {error}") from None
    return pattern


class PathsConfig(Config):
    """What the providers over files are told."""

    allowed_paths: Annotated[ListOf, AfterValidator(_check_paths)] = key(
        ALLOWED_PATHS,
        (),
        harmless="of the worker's own file",
        doc="Directories or files that may be read; none given: those of the worker's allowed.paths.",
        importance="medium",
    )
    worker_paths: ListOf = key(_OF_WORKER, (), doc="The worker's allowed.paths.", from_worker=True)

    @classmethod
    def with_leave(cls, properties: Mapping[str, str], worker: Mapping[str, str]) -> dict[str, str]:
        """Return the parameters, which are the worker's own, with the paths that its connectors may name."""
        return {**properties, _OF_WORKER: worker.get(ALLOWED_PATHS, "")}

    @property
    def allowed(self) -> AllowedPaths:
        """Return what may be read: the provider's own list, or else the worker's."""
        return AllowedPaths(self.allowed_paths or self.worker_paths)

    def leaves_out(self, path: str) -> bool:
        """Tell if a placeholder of this path stays as it is: Kafka Connect's answer outside of a provider's own list.

        ConfigError: the provider has no list, and the worker's does not have the path.
        """
        if not path:
            return True
        if self.allowed_paths and not self.allowed.allow(path):
            log.warning("The path %s is not allowed to be accessed.", path)
            return True
        if not self.allowed.allow(path):
            raise ConfigError(f"{path} is not read: {self.allowed.refusal(path)}", key=ALLOWED_PATHS)
        return False


class EnvConfig(Config):
    """What the provider of environment variables is told."""

    allowlist_pattern: Annotated[String, AfterValidator(_check_pattern)] = key(
        "allowlist.pattern", ".*", doc="Regular expression that must match the whole name of a variable.",
        importance="medium",
    )  # fmt: skip


class FileConfigProvider:
    """Reads `${file:/path.properties:key}`: a key of a file in Java's properties syntax."""

    def __init__(self, config: PathsConfig) -> None:
        self._config = config

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        """Return the values of these keys. Raise ConnectError when the file cannot be read or its syntax is broken."""
        if self._config.leaves_out(path):
            return {}
        doing = f"Could not read properties from file {path}"
        text = _read(self._config.allowed, path, doing)
        try:
            properties = parse_properties(text)
        except ValueError as error:
            raise ConnectError(f"{doing}: {error}") from None
        return {k: properties[k] for k in keys if k in properties}


class DirectoryConfigProvider:
    """Reads `${directory:/path:name}`: the whole text of a regular file in a directory, with its last newline."""

    def __init__(self, config: PathsConfig) -> None:
        self._config = config

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        """Return the texts of those files that exist. Raise ConnectError when one cannot be read."""
        if self._config.leaves_out(path):
            return {}
        folder = Path(path)
        if not folder.is_dir():
            log.warning("The path %s is not a directory.", path)
            return {}
        # A name with a separator in it would lead out of the directory.
        files = {k: folder / k for k in keys if k and "/" not in k and (folder / k).is_file()}
        return {k: _read(self._config.allowed, str(file), f"Could not read file {file}") for k, file in files.items()}


class EnvVarConfigProvider:
    """Reads `${env:NAME}`: an environment variable of the task host."""

    def __init__(self, config: EnvConfig, variables: Callable[[], Mapping[str, str]] = lambda: os.environ) -> None:
        self._allowed = re.compile(config.allowlist_pattern)
        self._variables = variables

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        """Return the values of those variables that are set and allowed.

        ConnectError for a path, which has no meaning.
        """
        if path:
            raise ConnectError(
                f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'.", fix="Write ${env:NAME}."
            )
        variables = self._variables()
        return {k: variables[k] for k in keys if k in variables and self._allowed.fullmatch(k)}


def _read(allowed: AllowedPaths, file: str, doing: str) -> str:
    try:
        return allowed.read_bytes(ALLOWED_PATHS, file).decode("utf-8")
    except OSError as error:
        raise ConnectError(
            f"{doing}: {error.strerror}.", fix="Mend the path in the placeholder, or the file's rights."
        ) from error
    except UnicodeDecodeError as error:
        # The cause holds the file's content.
        raise ConnectError(f"{doing}: byte {error.start} is not UTF-8.", fix="Write the file in UTF-8.") from None


def _built_in(provider: type[Any], config: type[Config]) -> Plugin:
    return Plugin(
        kind=PluginKind.CONFIG_PROVIDER,
        name=f"org.apache.kafka.common.config.provider.{provider.__name__}",
        factory=f"{provider.__module__}:{provider.__name__}",
        config=config,
        version=__version__,
        doc=str(provider.__doc__),
    )


BUILT_IN: Final = (
    _built_in(FileConfigProvider, PathsConfig),
    _built_in(DirectoryConfigProvider, PathsConfig),
    _built_in(EnvVarConfigProvider, EnvConfig),
)
"""Found without an entry point; a plug-in of the kind `config_provider` comes in addition."""
