"""Reads a backfill's spec from YAML or from a mapping. All mistakes are told at once, each with what to write."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from connect.api.errors import ConfigError, ConfigProblem
from connect.backfill.job.spec import BackfillSpec, Engine, joint_mistakes

Place = tuple[str | int, ...]
_START: Final = "Start from configs/backfill/flights.yaml."


def read_spec(path: Path) -> BackfillSpec:
    """Return the spec in a file. ConfigError lists every mistake as `file:line: key: what to do`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"There is no backfill spec {path}.", fix=_START) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The backfill spec {path} cannot be read: {error}.") from error
    return parse_spec(text, str(path))


def parse_spec(text: str, name: str) -> BackfillSpec:
    """Return the spec in a text. `name` is the file's name for error messages."""
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        given = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f":{mark.line + 1}"
        what = getattr(error, "problem", None) or error
        raise ConfigError(f"{name}{line}: this is no YAML: {what}.") from error
    if not isinstance(given, dict):
        raise ConfigError(f"{name}: it holds a {type(given).__name__}, not keys and values.", fix=_START)
    lines = dict(_lines(tree, ()))
    mistakes = [(place, "it is there twice; keep one of them") for place in _twice(tree, ())] + spec_mistakes(given)
    if mistakes:
        raise ConfigError([_problem(name, lines, place, text) for place, text in mistakes])
    return BackfillSpec.model_validate(given)


def parse_engine(text: str) -> Engine:
    """Return the engine in a text, which is the value of a command's option. ConfigError lists every mistake."""
    try:
        given = yaml.safe_load(text)
        return Engine.model_validate(given)
    except yaml.YAMLError as error:
        raise ConfigError(f"--engine: this is no YAML: {getattr(error, 'problem', None) or error}.") from error
    except ValidationError as error:
        found = [(("engine", *one["loc"]), one) for one in error.errors(include_url=False)]
        keys = [(".".join(map(str, place)), told_mistake(place, one)) for place, one in found]
        raise ConfigError([ConfigProblem(key, f"--{key}: {text}.") for key, text in keys]) from None


def spec_mistakes(given: Mapping[str, Any], refused: Collection[Place] = ()) -> list[tuple[Place, str]]:
    """Return the mistakes that keep a mapping from being a spec: the place of each, and what to write there.

    `refused` holds keys that may not be given here. Mistakes in them are left out, and none of them is proposed.
    """
    mistakes: list[tuple[Place, str]] = list(joint_mistakes(given))
    try:
        BackfillSpec.model_validate(given)
    except ValidationError as error:
        mistakes += [
            (found["loc"], told_mistake(found["loc"], found, refused))
            for found in error.errors(include_url=False)
            if found["loc"]  # what is said of the whole spec is a mistake of its kind
        ]
    return [(place, text) for place, text in mistakes if place[:2] not in refused]


def _problem(name: str, lines: Mapping[Place, int], place: Place, text: str) -> ConfigProblem:
    key = ".".join(map(str, place))
    # A key that is missing gets the line where its part begins.
    line = next((lines[place[:size]] for size in range(len(place), -1, -1) if place[:size] in lines), 1)
    return ConfigProblem(key, f"{name}:{line}: {key}: {text}.")


def told_mistake(place: Place, found: ErrorDetails, refused: Collection[Place] = ()) -> str:
    """Return what pydantic found at a place of a spec, and what to write there; `refused` keys are not proposed."""
    if found["type"] == "missing":
        return "it is missing"
    if found["type"] == "extra_forbidden":
        known = [key for key in _keys(place[:-1]) if (*place[:-1], key) not in refused]
        near = difflib.get_close_matches(str(place[-1]), known, 1)
        return f"there is no such key; {f'write {near[0]}' if near else 'there are ' + ', '.join(known)}"
    text = found["msg"].removeprefix("Value error, ")
    return f"{text[:1].lower()}{text[1:]}, not {found['input']!r}"


def _keys(place: Place) -> Sequence[str]:
    part: type[BaseModel] = BackfillSpec
    for name in place:
        found = {f.alias or key: f.annotation for key, f in part.model_fields.items()}.get(str(name))
        if not (isinstance(found, type) and issubclass(found, BaseModel)):
            return ()
        part = found
    return [field.alias or key for key, field in part.model_fields.items()]


def _lines(node: Any, place: Place) -> Iterator[tuple[Place, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*place, str(key.value))
            yield here, key.start_mark.line + 1
            yield from _lines(value, here)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield (*place, number), value.start_mark.line + 1


def _twice(node: Any, place: Place) -> Iterator[Place]:
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        name = str(key.value)
        if name in seen:
            yield (*place, name)
        seen.add(name)
        yield from _twice(value, (*place, name))
