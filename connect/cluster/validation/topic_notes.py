"""Finds keys `topic.creation.*` that make no topic otherwise than without them, or that brokers refuse. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from connect.api.plugin import PluginKind
from connect.cluster.validation.notes import FAIL_UNTIL, NO_EFFECT, UNKNOWN_MAX
from connect.cluster.validation.rules import comma_separated
from connect.kafka.admin.topic_settings import TOPIC_SETTINGS
from connect.lib.nearest import nearest
from connect.runtime.settings.topic_groups import DEFAULT, PREFIX
from connect.runtime.settings.worker_config import WorkerConfig

_GROUPS: Final = f"{PREFIX}groups"
_PATTERNS: Final = ("include", "exclude")
_NUMBERS: Final = ("partitions", "replication.factor")
_NAMES: Final = frozenset({*_NUMBERS, *_PATTERNS, *TOPIC_SETTINGS})


def topic_notes(kind: PluginKind, given: Mapping[str, str], worker: WorkerConfig) -> Iterator[str]:
    """Yield a sentence for each key that does nothing, or with which no topic can be made. It tells no values."""
    own = [key for key in given if key.startswith(PREFIX)]
    if not own:
        return
    if kind is not PluginKind.SOURCE:
        yield f"{_few(own)}: {NO_EFFECT}, as only sources make topics by such keys."
    elif not worker.topic_creation_enable:
        yield f"{_few(own)}: {NO_EFFECT}, as the worker's file has topic.creation.enable=false: brokers make topics."
    else:
        groups = (*comma_separated(given.get(_GROUPS)), DEFAULT)
        for key in [key for key in own if key != _GROUPS][:UNKNOWN_MAX]:
            yield from _note(key, groups)


def _note(key: str, groups: Collection[str]) -> Iterator[str]:
    within = [group for group in groups if key.startswith(f"{PREFIX}{group}.")]
    if not within:
        alias, _, setting = key.removeprefix(PREFIX).partition(".")
        near = nearest(alias, groups) if setting else None
        meant = f"{PREFIX}{near}.{setting}" if near else nearest(key, [_GROUPS])
        why = f"{_GROUPS} does not list {alias}" if setting else "nobody knows this key"
        yield f"{key}: {NO_EFFECT}, as {why}.{_hint(meant)}"
        return
    # A group's name may have dots, so that one key may belong to two groups.
    names = {group: key.removeprefix(f"{PREFIX}{group}.") for group in within}
    if any(name in _NAMES and (group != DEFAULT or name not in _PATTERNS) for group, name in names.items()):
        return
    group = max(within, key=len)
    if group == DEFAULT and names[group] in _PATTERNS:
        yield f"{key}: {NO_EFFECT}, as {DEFAULT} takes every topic that no other group takes."
        return
    near = nearest(names[group], _NAMES)
    if near is None:
        # Brokers of other makers and of Kafka 3 have settings of their own, which Java's users may need.
        yield f"{key}: topics of Kafka 4.1 have no such setting; brokers that lack it refuse to make a topic with it."
        return
    yield (
        f"{key}: topics of Kafka 4.1 have no such setting, and brokers refuse to make a topic with it: {FAIL_UNTIL} "
        f"it is removed where a topic is missing.{_hint(f'{PREFIX}{group}.{near}')}"
    )


def _few(keys: Collection[str]) -> str:
    return ", ".join(sorted(keys)[:UNKNOWN_MAX])


def _hint(meant: str | None) -> str:
    return f" Is {meant} meant?" if meant else ""
