"""Runs public configurations in a worker, a few at a time, each with its own place, and compares their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from e2e_worker import WorkerProcess
from public_configurations import LIKE_JAVA, MOVED, movable
from public_rows import Topics

from connect.lib.deadline import Deadline

PATIENCE_S = 180.0
AT_ONCE = 6
_OF_SERVERS = (
    "s3.proxy.", "s3.credentials.provider.", "http.proxy.", "https.ssl.", "ssl.enabled", "auth.type",
    "producer.override.sasl.", "consumer.override.sasl.", "producer.interceptor", "value.converter.basic.auth.",
    "value.converter.schema.registry.basic.auth.", "value.converter.schema.registry.ssl.", "value.converter.proxy.",
    "value.converter.schema.content",
)  # fmt: skip
"""These keys name proxies, roles, users, interceptors and schemas that are not here."""


_TOPIC_FORMATS = {
    "x-x": "${topic}-${timestamp}", "kafka-x-x": "kafka-${topic}-${timestamp}", "x_x": "${topic}_${timestamp}",
}  # fmt: skip
"""In the corpus these texts were replaced by neutral words."""


@dataclass(frozen=True)
class Public:
    """Holds a configuration of the corpus; its name is made of its file and its place there."""

    name: str
    config: Mapping[str, str]


Draw = Callable[[Iterable[Public]], Sequence[Public]]


def _some(publics: Iterable[Public]) -> Sequence[Public]:
    """Return a few that are far from each other."""
    known = list(publics)
    return known[:: max(1, len(known) // 3)][:4]


FEW = pytest.mark.parametrize(
    "drawn",
    [
        pytest.param(_some, id="some", marks=pytest.mark.timeout(900)),
        pytest.param(list, id="all", marks=[pytest.mark.chaos, pytest.mark.timeout(1800)]),
    ],
)


def runnable(connector_class: str, needs: str = "") -> Iterator[Public]:
    """Yield the configurations of a class that run by validation; their connection.url has to begin with `needs`."""
    assert needs in MOVED[connector_class]
    for name, one in movable():
        ours = one.config["connector.class"].rpartition(".")[2] == connector_class
        if ours and one.config.get("connection.url", "").startswith(needs):
            yield Public(name, one.config)


def local(config: Mapping[str, str], topics: Topics) -> dict[str, str]:
    """Return the configuration without servers that are not here, and with the registry that is."""
    kept = {name: value for name, value in config.items() if not name.startswith(_OF_SERVERS)}
    return {
        name: topics.bootstrap_servers if name.endswith("bootstrap.servers")
        else topics.registry_url if name.endswith("schema.registry.url")
        else _TOPIC_FORMATS.get(value, value) if name.endswith("topic.format")
        else value.replace("$$", "$") for name, value in kept.items()  # Docker Compose reads $$ as $
    }  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """Holds a configuration that was made local, and functions that return the wanted and the found rows again and
    again.
    """

    public: str
    name: str
    config: Mapping[str, str]
    wanted: Callable[[], Sequence[Any]]
    found: Callable[[], Sequence[Any]]
    then: Callable[[], None] = lambda: None
    """This is called once the first rows are there, and makes more."""


def failures(worker: WorkerProcess, trials: Sequence[Trial]) -> dict[str, str]:
    """Run all trials, and return what was not as wanted, by the configuration's name."""
    told: dict[str, str] = {}
    for begin in range(0, len(trials), AT_ONCE):
        some = trials[begin : begin + AT_ONCE]
        told |= {trial.public: text for trial in some if (text := _refusal(worker, trial))}
        left = [trial for trial in some if trial.public not in told]
        told |= _unequal(worker, left)
        left = [trial for trial in left if trial.public not in told]
        for trial in left:
            trial.then()
        told |= _unequal(worker, left)
        for trial in some:
            worker.call("DELETE", trial.name)
    return told


def agree(wrong: Mapping[str, str]) -> None:
    """Fail with everything that was not as wanted, unless it fails in Java, too."""
    unlike = {name: text for name, text in wrong.items() if LIKE_JAVA.get(name, text + ".") not in text}
    assert not unlike, "\n".join(f"{name}: {text}" for name, text in unlike.items())


def _refusal(worker: WorkerProcess, trial: Trial) -> str:
    answer = worker.create(trial.name, trial.config)
    return "" if answer.status_code == 201 else f"{answer.status_code} {answer.text}"


def _unequal(worker: WorkerProcess, trials: Sequence[Trial]) -> dict[str, str]:
    limit = Deadline.after(PATIENCE_S)
    told: dict[str, str] = {}
    for trial in trials:
        while trial.found() != trial.wanted():
            status = worker.status(trial.name)
            broken = [task["trace"] for task in status.get("tasks", []) if task["state"] == "FAILED"]
            if (broken and trial.found() != trial.wanted()) or not limit.wait(0.5):
                told[trial.public] = _difference(trial, broken, status)
                break
    return told


def _difference(trial: Trial, broken: Sequence[str], status: Mapping[str, Any]) -> str:
    if broken:
        return broken[0][:600]
    found, wanted = trial.found(), trial.wanted()
    lacking = [*(Counter(wanted) - Counter(found))][:3]
    foreign = [*(Counter(found) - Counter(wanted))][:3]
    return f"{len(found)} rows of {len(wanted)}; lacking {lacking}, foreign {foreign}; {status}"
