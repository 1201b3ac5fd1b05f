"""Defines what the record of a job may choose if the job is run by its name. REST and commands share the rule.

Anybody who may write to the jobs topic may have written the record. So the record may choose no more than a REST
request may. Settings that name code, another machine or a file are shown, and the person who runs the job gives them
again, in the job's file or on the command line.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from connect.api.errors import ConfigError, ConfigProblem
from connect.backfill.job.spec import LOCAL_MASTER, BackfillSpec, Engine
from connect.backfill.job.spec_file import spec_mistakes
from connect.lib.secrets import HIDDEN, is_suspect, masked
from connect.runtime.settings.internal_topics import JOBS_TOPIC

_CODE: Final = "runs code of its author's choice"
_MACHINE: Final = "names another machine"
_ENGINE: Final = {
    "conf": _CODE, "packages": _CODE, "jars": _CODE, "python_env": _CODE, "master": _MACHINE, "remote": _MACHINE,
}  # fmt: skip
_OWN_MACHINE: Final = "Spark runs on the machine of the worker that is asked"
_OWN_CODE: Final = "no request brings code or settings of Spark"
_STOPPED: Final = 'create the connector by POST /connectors with "initial_state": "STOPPED"'
_REFUSED: Final = {
    **{("engine", key): _OWN_MACHINE if why == _MACHINE else _OWN_CODE for key, why in _ENGINE.items()},
    **{(part, "config"): f"a request names no file; {_STOPPED}" for part in ("source", "target")},
}
"""Maps each key that no request may give to the reason, or to what to do instead."""


def checked(given: Mapping[str, Any]) -> BackfillSpec:
    """Return the spec in a request. ConfigError lists every mistake, and every key that a request may not give."""
    problems = []
    for (part, key), why in _REFUSED.items():
        inner = given.get(part)
        if isinstance(inner, Mapping) and key in inner:
            text = f"{part}.{key}: {why}; leave it out, or give the spec in a file to `connect backfill run`."
            problems.append(ConfigProblem(f"{part}.{key}", text))
    state = given.get("state")
    if isinstance(state, Mapping) and state.get("jobs_topic", JOBS_TOPIC) != JOBS_TOPIC:
        text = f"state.jobs_topic: workers see the jobs of topic {JOBS_TOPIC} alone; leave it out."
        problems.append(ConfigProblem("state.jobs_topic", text))
    for place, text in spec_mistakes(given, _REFUSED):
        key = ".".join(map(str, place))
        problems.append(ConfigProblem(key, f"{key}: {text}."))
    if problems:
        raise ConfigError(problems)
    return BackfillSpec.model_validate(given)


def without_choices(spec: BackfillSpec) -> BackfillSpec:
    """Return a stored spec for work that runs no engine: without code, other machines and files."""
    # The connectors have existed since the job began, and a file that the spec names would be read here.
    parts = {name: getattr(spec, name).model_copy(update={"config": None}) for name in ("source", "target")}
    safe = {key: value for key, value in spec.engine.model_dump().items() if key not in chosen_engine(spec)}
    return spec.model_copy(update={**parts, "engine": Engine.model_validate(safe)})


def runnable(spec: BackfillSpec, *, by: str) -> BackfillSpec:
    """Return a stored spec as it may be run.

    `by` is the command or request that errors name for giving the engine again. ConfigError: the engine has to be given
    again; the error shows what the record says of it, without secrets.
    """
    chosen = chosen_engine(spec)
    if chosen:
        problems = [
            ConfigProblem(f"engine.{key}", f"engine.{key} of job {spec.name}: it {_ENGINE[key]}, and a record in Kafka "
                          f"chooses none: {json.dumps(value)}.")
            for key, value in chosen.items()
        ]  # fmt: skip
        again = shlex.quote(json.dumps({"type": spec.engine.type, **chosen}))
        raise ConfigError(problems, fix=f"If that is what you want, go on by its file, or by {by} --engine {again}")
    return without_choices(spec)


def chosen_engine(spec: BackfillSpec) -> dict[str, Any]:
    """Return those settings of a stored spec's engine that no record may choose, without secrets."""
    chosen = spec.engine.model_dump(mode="json", exclude_defaults=True)
    if LOCAL_MASTER.fullmatch(spec.engine.master):
        chosen.pop("master", None)  # this machine, on any number of cores
    return {key: _shown(value) for key, value in chosen.items() if key in _ENGINE}


def told_to_requests(text: str) -> str:
    """Return an error's text for a request; if its fix needs a key that no request may give, another way is added."""
    advised = [f"engine.{key}" for key in _ENGINE if re.search(rf"engine\.{key}\b|\{{{key}: |\b{key}: spark\.", text)]
    if not advised:
        return text
    return f"{text} No request may give {' or '.join(advised)}: write it in a file for `connect backfill run`."


def without_secrets(spec: Mapping[str, Any]) -> Any:
    """Return a stored spec for people to read; passwords that may be in the engine's conf are hidden."""
    return _shown(dict(spec))


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: HIDDEN if is_suspect(key) else _shown(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shown(inner) for inner in value]
    return masked(value) if isinstance(value, str) else value
