"""Reads files that describe connectors: Connect's JSON, YAML, `.properties`, and Strimzi's KafkaConnector."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from connect.api.errors import ConfigError, ConfigProblem
from connect.api.values.strict_json import no_constant
from connect.runtime.settings.yaml_documents import yaml_documents

SUFFIXES: Final = (".json", ".yaml", ".yml", ".properties")
MOST_BYTES: Final = 4 * 2**20
"""A file has so many bytes at most. To read this much YAML takes a minute."""
_TEXTS_MAX: Final = 2 * MOST_BYTES
"""The configurations of a file have so many characters at most: YAML's aliases make much of a small file."""
_STATES: Final = {"running": "RUNNING", "paused": "PAUSED", "stopped": "STOPPED"}


@dataclass(frozen=True, slots=True)
class Manifest:
    """Describes a connector as a file does. `state` is RUNNING, PAUSED or STOPPED; None: its state stays as it is."""

    name: str
    config: Mapping[str, str]
    source: str
    state: str | None = None


def cut_problems(manifests: Iterable[Manifest]) -> list[ConfigProblem]:
    """Return a problem for each file that has no connector.class, by its path: it is the rest of one that was cut."""
    text = "It has no connector.class, as a file that was cut. Write the whole configuration into it."
    return [ConfigProblem(one.source, text) for one in manifests if not one.config.get("connector.class", "").strip()]


def read_manifests(paths: Iterable[Path], notes: list[ConfigProblem] | None = None) -> list[Manifest]:
    """Return the connectors that files describe, also files in folders and below them, sorted by name.

    `notes` gets what is told of folders. ConfigError lists all files that cannot be used and every name that is there
    twice.
    """
    found, problems = read_usable(paths, notes)
    if problems:
        raise ConfigError([ConfigProblem(p.key, f"{p.key}: {p.message}") for p in problems])
    return found


def read_usable(
    paths: Iterable[Path], notes: list[ConfigProblem] | None = None
) -> tuple[list[Manifest], list[ConfigProblem]]:
    """Return the connectors that can be used, sorted by name, and the problem of each other file.

    `notes` gets what is told of folders. If a name is there twice, the first file counts.
    ConfigError: a path does not exist.
    """
    found: list[Manifest] = []
    problems: list[ConfigProblem] = []
    notes = [] if notes is None else notes
    for file in [file for path in paths for file in _files(path, problems, notes)]:
        try:
            found += list(_manifests(file))  # a file counts as a whole
        except OSError as error:
            problems.append(ConfigProblem(str(file), f"it cannot be read: {error.strerror}"))
        except RecursionError:
            problems.append(ConfigProblem(str(file), "it is nested too deep"))
        except (ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
            problems.append(ConfigProblem(str(file), " ".join(str(error).split())))
    by_name: dict[str, Manifest] = {}
    for manifest in found:
        other = by_name.setdefault(manifest.name, manifest)
        if other is not manifest:
            said = f"connector {manifest.name!r} is in {other.source} already"
            problems.append(ConfigProblem(manifest.source, said))
    return [by_name[name] for name in sorted(by_name)], problems


def newest_change_s(paths: Iterable[Path]) -> float:
    """Return when a file was changed last, in seconds since 1970; 0.0 where there is none."""
    newest_s = 0.0
    for file in [file for path in paths if path.exists() for file in _files(path, [], [])]:
        try:
            newest_s = max(newest_s, file.stat().st_mtime)
        except OSError:
            continue  # It is being replaced, or whoever reads it says what is wrong with it.
    return newest_s


def _files(path: Path, problems: list[ConfigProblem], notes: list[ConfigProblem]) -> Iterator[Path]:
    """Yield the files of a path. Add a problem for each folder that cannot be listed, and each link to a file outside,
    and a note for each link to a folder outside.
    """
    if not path.exists():
        raise ConfigError(f"There is no {path}.", fix="Name a file, or a folder with files of connectors.")
    if not path.is_dir():
        yield path
        return

    def not_listed(error: OSError) -> None:
        # Its files are not gone: else `--prune` would delete their connectors.
        problems.append(ConfigProblem(str(error.filename), f"the folder cannot be listed: {error.strerror}"))

    found: list[Path] = []
    within = os.path.realpath(path)
    for folder, below, names in os.walk(path, onerror=not_listed):
        # A mounted ConfigMap has its files once more in folders that begin with a dot, and a checkout its history.
        below[:] = [name for name in below if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".") and Path(name).suffix in SUFFIXES]
        notes += _linked_folders(folder, below, within)
    for file in sorted(found):
        try:
            if not _is_to_be_read(file):
                continue
        except OSError as error:  # its folder may be listed, and not entered
            problems.append(ConfigProblem(str(file), f"it cannot be read: {error.strerror}"))
            continue
        target = os.path.realpath(file)
        if Path(target).is_relative_to(within):
            yield file
        else:
            # Whoever may write to a checkout would have this machine's files read, and sent to the cluster.
            told = f"it is a link to {target}, out of the folder. Name that file by -f if it is meant."
            problems.append(ConfigProblem(str(file), told))


def _linked_folders(folder: str, below: Iterable[str], within: str) -> Iterator[ConfigProblem]:
    """Yield a note for each of a folder's links to a folder that is not `within`."""
    for link in sorted(Path(folder, name) for name in below):
        target = os.path.realpath(link)
        if link.is_symlink() and not Path(target).is_relative_to(within):
            told = f"It is a link to the folder {target}, which is not followed. Name that folder by -f."
            yield ConfigProblem(str(link), told)


def _is_to_be_read(file: Path) -> bool:
    """Return True for a file, and for a broken link, as a ConfigMap's folder has while it is replaced."""
    return file.is_file() or (file.is_symlink() and not file.exists())


def _manifests(file: Path) -> Iterator[Manifest]:
    with file.open("rb") as data:
        whole = data.read(MOST_BYTES + 1)
    if len(whole) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB. Give each connector a file of its own.")
    text = whole.decode("utf-8")
    if not text.strip():
        raise ValueError("it is empty, as a full disk leaves files. Remove it if it is to describe no connector.")
    if file.suffix == ".properties":
        from connect.runtime.settings.java_properties import parse_properties

        yield _manifest(dict(parse_properties(text)), file)
        return
    try:
        documents = [_json_of(text)] if file.suffix == ".json" else yaml_documents(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"This is no JSON: {error}. See what stands before that place.") from error
    chars = 0
    for document in documents:
        if document is None:
            continue
        for one in document if isinstance(document, list) else [document]:
            if not isinstance(one, Mapping):
                raise TypeError(f"a connector is an object, not a {type(one).__name__}")
            found = _strimzi(one, file) if "kind" in one and "spec" in one else _manifest(one, file)
            texts = [found.name, *found.config, *found.config.values()]
            chars += sum(map(len, texts))
            _check_length(chars)
            _check_characters(texts)
            yield found


def _json_of(text: str) -> Any:
    """Return a document in JSON with numbers as they are written there. ValueError: it has a key twice."""
    return json.loads(text, parse_float=str, parse_int=str, parse_constant=no_constant, object_pairs_hook=_members)


def _members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {counts.most_common(1)[0][0][:100]!r} is there twice")
    return members


def _manifest(document: Mapping[str, Any], file: Path) -> Manifest:
    """Return the manifest of a document in JSON or YAML.

    It has the form `{"name", "config"}` as in POST /connectors, or only the keys of a configuration, with `name` among
    them.
    """
    config = document.get("config") if isinstance(document.get("config"), Mapping) else None
    name = _text(document, "name") or _text(config or {}, "name") or file.stem
    state = _text(document, "initial_state").upper() if config is not None else ""
    if state and state not in _STATES.values():
        raise ValueError(f"initial_state {state[:50]!r} is none of {', '.join(_STATES.values())}")
    return Manifest(name, _texts(document if config is None else config), str(file), state or None)


def _strimzi(document: Mapping[str, Any], file: Path) -> Manifest:
    """Return the manifest of Strimzi's KafkaConnector (kafka.strimzi.io/v1beta2).

    Its class, tasksMax, config, autoRestart, and state or the older pause are read.
    """
    if _text(document, "kind") != "KafkaConnector":
        raise ValueError(f"kind {_text(document, 'kind')[:100]!r} is no KafkaConnector")
    spec = document["spec"]
    config = dict(spec.get("config") or {})
    if "class" in spec:
        config["connector.class"] = spec["class"]
    if "tasksMax" in spec:
        config["tasks.max"] = spec["tasksMax"]
    restart = spec.get("autoRestart") or {}
    if "enabled" in restart:
        config.setdefault("auto.restart.enabled", restart["enabled"])
    state = _text(spec, "state") or ("paused" if spec.get("pause") else "")
    if state and state.lower() not in _STATES:
        raise ValueError(f"state {state[:50]!r} is none of {', '.join(_STATES)}")
    name = _text(document.get("metadata") or {}, "name") or file.stem
    return Manifest(name, _texts(config), str(file), _STATES.get(state.lower()))


def _texts(config: Mapping[Any, Any]) -> dict[str, str]:
    """Return a configuration with texts as values: lists are joined by commas, and keys with null are left out."""
    texts = {}
    for key, value in config.items():
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise TypeError(f"a key reads as {key}, which is no text: put it in quotes")
        if isinstance(value, Mapping):
            raise TypeError(f"{key} is an object; the values of a configuration are texts")
        if isinstance(value, list) and any(isinstance(one, list | Mapping) for one in value):
            # A text of it could have any length: YAML's aliases make a few lines a list of a thousand millions.
            raise TypeError(f"{key} is a list of lists or objects; the values of a configuration are texts")
        if isinstance(value, bool):
            texts[str(key)] = str(value).lower()
        elif isinstance(value, list):
            items = [str(one) for one in value]
            _check_length(sum(map(len, items)))
            texts[str(key)] = ",".join(items)
        elif value is not None:
            texts[str(key)] = str(value)
    return texts


def _text(members: Mapping[str, Any], name: str) -> str:
    """Return a member that is a text or a number; an empty text where it is missing. TypeError: it is another thing."""
    value = members.get(name)
    if isinstance(value, list | Mapping):
        raise TypeError(f"{name} is {'a list' if isinstance(value, list) else 'an object'}, not a text")
    return "" if value is None else str(value)


def _check_length(chars: int) -> None:
    """Raise ValueError if a file's configurations have more characters than they may."""
    if chars > _TEXTS_MAX:
        raise ValueError(f"its configurations have more than {_TEXTS_MAX >> 20} million characters")


def _check_characters(texts: Iterable[str]) -> None:
    """Raise ValueError if a text has half of a character, which JSON can write and no request can carry."""
    for text in texts:
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError(f"{text[:50]!r} has half of a character (U+D800 to U+DFFF)")
