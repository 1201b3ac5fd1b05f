"""Reads files that describe connectors: Connect's JSON, YAML, `.properties`, and Strimzi's KafkaConnector."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from connect.api.errors import ConfigError, ConfigProblem

SUFFIXES: Final = (".json", ".yaml", ".yml", ".properties")
_STATES: Final = {"running": "RUNNING", "paused": "PAUSED", "stopped": "STOPPED"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """Describes a connector as a file does. `state` is RUNNING, PAUSED or STOPPED; None: its state stays as it is."""

    name: str
    config: Mapping[str, str]
    source: str
    state: str | None = None


def read_manifests(paths: Iterable[Path]) -> list[Manifest]:
    """Return the connectors that files describe, also files in folders and below them, sorted by name.

    ConfigError lists all files that cannot be used and every name that is there twice.
    """
    found, problems = read_usable(paths)
    if problems:
        raise ConfigError([ConfigProblem(p.key, f"{p.key}: {p.message}") for p in problems])
    return found


def read_usable(paths: Iterable[Path]) -> tuple[list[Manifest], list[ConfigProblem]]:
    """Return the connectors that can be used, sorted by name, and the problem of each other file.

    If a name is there twice, the first file counts. ConfigError: a path does not exist.
    """
    found: list[Manifest] = []
    problems: list[ConfigProblem] = []
    for file in [file for path in paths for file in _files(path)]:
        try:
            found.extend(_manifests(file))
        except OSError as error:
            problems.append(ConfigProblem(str(file), f"it cannot be read: {error.strerror}"))
        except (ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
            problems.append(ConfigProblem(str(file), " ".join(str(error).split())))
    by_name: dict[str, Manifest] = {}
    for manifest in found:
        other = by_name.setdefault(manifest.name, manifest)
        if other is not manifest:
            said = f"connector {manifest.name!r} is in {other.source} already"
            problems.append(ConfigProblem(manifest.source, said))
    return [by_name[name] for name in sorted(by_name)], problems


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise ConfigError(f"There is no {path}.", fix="Name a file, or a folder with files of connectors.")
    if path.is_dir():
        # A mounted ConfigMap has its files once more in folders that begin with a dot, and a checkout its history.
        shown = (file for file in path.rglob("*") if not any(p.startswith(".") for p in file.relative_to(path).parts))
        yield from sorted(file for file in shown if file.suffix in SUFFIXES and _is_to_be_read(file))
    else:
        yield path


def _is_to_be_read(file: Path) -> bool:
    """Return True for a file, and for a broken link, as a ConfigMap's folder has while it is replaced."""
    return file.is_file() or (file.is_symlink() and not file.exists())


def _manifests(file: Path) -> Iterator[Manifest]:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".properties":
        from connect.runtime.settings.java_properties import parse_properties

        yield _manifest(dict(parse_properties(text)), file)
        return
    try:
        documents = [json.loads(text)] if file.suffix == ".json" else list(yaml.safe_load_all(text))
    except json.JSONDecodeError as error:
        raise ValueError(f"This is no JSON: {error}. See what stands before that place.") from error
    for document in documents:
        if document is None:
            continue
        for one in document if isinstance(document, list) else [document]:
            if not isinstance(one, Mapping):
                raise TypeError(f"a connector is an object, not a {type(one).__name__}")
            yield _strimzi(one, file) if "kind" in one and "spec" in one else _manifest(one, file)


def _manifest(document: Mapping[str, Any], file: Path) -> Manifest:
    """Return the manifest of a document in JSON or YAML.

    It has the form `{"name", "config"}` as in POST /connectors, or only the keys of a configuration, with `name` among
    them.
    """
    config = document.get("config") if isinstance(document.get("config"), Mapping) else None
    name = document.get("name") or (config or {}).get("name") or file.stem
    state = document.get("initial_state") if config is not None else None
    return Manifest(str(name), _texts(document if config is None else config), str(file), state)


def _strimzi(document: Mapping[str, Any], file: Path) -> Manifest:
    """Return the manifest of Strimzi's KafkaConnector (kafka.strimzi.io/v1beta2).

    Its class, tasksMax, config, autoRestart, and state or the older pause are read.
    """
    if document["kind"] != "KafkaConnector":
        raise ValueError(f"kind {document['kind']!r} is no KafkaConnector")
    spec = document["spec"]
    config = dict(spec.get("config") or {})
    if "class" in spec:
        config["connector.class"] = spec["class"]
    if "tasksMax" in spec:
        config["tasks.max"] = spec["tasksMax"]
    restart = spec.get("autoRestart") or {}
    if "enabled" in restart:
        config.setdefault("auto.restart.enabled", restart["enabled"])
    state = _STATES.get(str(spec.get("state", "paused" if spec.get("pause") else "")).lower())
    return Manifest(str((document.get("metadata") or {}).get("name") or file.stem), _texts(config), str(file), state)


def _texts(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a configuration with texts as values: lists are joined by commas, and keys with null are left out."""
    texts = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            raise TypeError(f"{key} is an object; the values of a configuration are texts")
        if isinstance(value, bool):
            texts[str(key)] = str(value).lower()
        elif isinstance(value, list):
            texts[str(key)] = ",".join(map(str, value))
        elif value is not None:
            texts[str(key)] = str(value)
    return texts
