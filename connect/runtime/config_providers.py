"""Placeholders of config providers -> values: `${provider:[path:]key}`, resolved where tasks run and nowhere stored.

Semantics: org.apache.kafka.common.config.ConfigTransformer and the three providers of Kafka 4.1. An unknown provider, a
missing key and a path that is not allowed leave the text as it is. What a provider cannot read is a ConfigError. No
message and no log line holds a value.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Protocol, cast

from pydantic import AfterValidator

from connect import __version__
from connect.api.config import Config, ListOf, String, key
from connect.api.errors import ConfigError, ConfigProblem, ConnectError
from connect.api.plugin import Plugin, PluginKind
from connect.api.secrets import hidden_in
from connect.plugins import Catalog
from connect.runtime.java_properties import parse_properties
from connect.telemetry.secret_texts import SECRET_TEXTS

log = logging.getLogger(__name__)

PLACEHOLDER: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")


class Placeholder(NamedTuple):
    """What stands in a `${provider:[path:]key}`; no path is the empty path."""

    provider: str
    path: str
    key: str


class ConfigProvider(Protocol):
    """Looks values up. What a plug-in of the kind `config_provider` builds from its parsed parameters."""

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        """The values of those keys that exist. ConnectError when they cannot be read; its text holds no value."""


def placeholders(text: str) -> Iterator[Placeholder]:
    """The placeholders of a value in order, those of unknown providers included."""
    return (_placeholder(match) for match in PLACEHOLDER.finditer(text))


def replaced(text: str, values: Mapping[Placeholder, str]) -> str:
    """The text with every placeholder that has a value replaced by it; values are not looked into again."""

    def value(match: re.Match[str]) -> str:
        return values.get(_placeholder(match), match.group())

    return PLACEHOLDER.sub(value, text)


class ConfigProviders:
    """The providers of a worker, each built when it is first asked for something. Any thread may ask."""

    def __init__(self, makers: Mapping[str, Callable[[], ConfigProvider]]) -> None:
        self._makers = makers
        self._built: dict[str, ConfigProvider] = {}
        self._building = threading.Lock()  # tasks look up values on their own threads
        self._given: set[str] = set()

    def resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        """The configuration with placeholders replaced; ConfigError names every key whose provider failed."""
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
        self._given.update(values.values())
        SECRET_TEXTS.add(values.values())
        return {name: replaced(text, values) for name, text in config.items()}

    def _provider(self, name: str) -> ConfigProvider:
        with self._building:
            if name not in self._built:
                self._built[name] = self._makers[name]()
            return self._built[name]

    def hide(self, text: str) -> str:
        """A text for people to read, in which no value that a provider gave is shown."""
        return hidden_in(text, self._given)


def config_providers(worker: Mapping[str, str], catalog: Catalog) -> ConfigProviders:
    """The providers that a worker's `config.providers*` settings name. ConfigError lists every broken key.

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
        config = plugin.config.parse(parameters)
    except ConfigError as error:
        raise ConfigError([ConfigProblem(prefix + p.key, p.message) for p in error.problems]) from error
    return lambda: cast("ConfigProvider", known.load(plugin)(config))


def _placeholder(match: re.Match[str]) -> Placeholder:
    return Placeholder(match.group(1), match.group(2) or "", match.group(3))


def _grouped(found: Iterable[Placeholder]) -> Iterable[tuple[tuple[str, str], set[str]]]:
    """The keys asked for, by provider and path: each file is read once."""
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
        "allowed.paths", (), doc="Directories or files that may be read; none given: all.", importance="medium"
    )

    def allowed(self, path: str) -> Path | None:
        """The path with `..` taken out by its text, None when it is outside of what may be read."""
        if not self.allowed_paths:
            return Path(path)
        normal = Path(os.path.normpath(path))
        if any(normal.is_relative_to(os.path.normpath(root)) for root in self.allowed_paths):
            return normal
        log.warning("The path %s is not allowed to be accessed.", path)
        return None


class EnvConfig(Config):
    """What the provider of environment variables is told."""

    allowlist_pattern: Annotated[String, AfterValidator(_check_pattern)] = key(
        "allowlist.pattern", ".*", doc="Regular expression that must match the whole name of a variable.",
        importance="medium",
    )  # fmt: skip


class FileConfigProvider:
    """`${file:/path.properties:key}`: a key of a file in Java's properties syntax."""

    def __init__(self, config: PathsConfig) -> None:
        self._config = config

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        """The values of these keys. ConnectError when the file cannot be read or its syntax is broken."""
        file = self._config.allowed(path) if path else None
        if file is None:
            return {}
        doing = f"Could not read properties from file {path}"
        text = _read(file, doing)
        try:
            properties = parse_properties(text)
        except ValueError as error:
            raise ConnectError(f"{doing}: {error}") from None
        return {k: properties[k] for k in keys if k in properties}


class DirectoryConfigProvider:
    """`${directory:/path:name}`: the whole text of a regular file in a directory, its newline at the end included."""

    def __init__(self, config: PathsConfig) -> None:
        self._config = config

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        """The texts of those files that exist. ConnectError when one cannot be read."""
        folder = self._config.allowed(path) if path else None
        if folder is None:
            return {}
        if not folder.is_dir():
            log.warning("The path %s is not a directory.", path)
            return {}
        # A name with a separator in it would lead out of the directory.
        files = {k: folder / k for k in keys if k and "/" not in k and (folder / k).is_file()}
        return {k: _read(file, f"Could not read file {file}") for k, file in files.items()}


class EnvVarConfigProvider:
    """`${env:NAME}`: an environment variable of the task host."""

    def __init__(self, config: EnvConfig, variables: Callable[[], Mapping[str, str]] = lambda: os.environ) -> None:
        self._allowed = re.compile(config.allowlist_pattern)
        self._variables = variables

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        """The values of those variables that are set and allowed. ConnectError for a path, which has no meaning."""
        if path:
            raise ConnectError(
                f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'.", fix="Write ${env:NAME}."
            )
        variables = self._variables()
        return {k: variables[k] for k in keys if k in variables and self._allowed.fullmatch(k)}


def _read(file: Path, doing: str) -> str:
    try:
        return file.read_bytes().decode("utf-8")
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
