"""Chooses the topics of the source that are copied, and keeps their copies in the target as wide and set alike."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Final

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.other_clusters import OtherCluster
from connect.lib.deadline import Deadline
from connect.lib.javatext.regex import compile_pattern
from connectors.mirror.config import MirrorSourceConfig
from connectors.mirror.topic_naming import HEARTBEATS, comes_from, is_internal, original_name

Configs = Mapping[str, Mapping[str, str]]
log = logging.getLogger(__name__)
_FREE: Final[set[tuple[str, str]]] = set()
"""Holds brokers and topics that hold no state, for all connectors of a process: plans are made by new objects, and one
that is out of time goes on from here when it is made again."""
_MOST_FREE: Final = 100_000
_LIKE_STATE: Final = re.compile("connect|config|offset|status", re.IGNORECASE)
"""Topics of a cluster's state have names that hold one of these words, unless somebody chose others."""


class TopicChoice:
    """Says which topics are copied."""

    def __init__(self, config: MirrorSourceConfig) -> None:
        self._config = config
        self._naming = config.naming
        self._wanted = compile_pattern("|".join(config.topics))
        self._excluded = compile_pattern("|".join(config.topics_excluded)) if config.topics_excluded else None

    def chosen(self, topics: Iterable[str]) -> list[str]:
        """Return those of the source's topics that are copied, by name."""
        return sorted(filter(self._is_chosen, topics))

    def _is_chosen(self, topic: str) -> bool:
        is_wanted = self._wanted.fullmatch(topic) is not None and (
            self._excluded is None or self._excluded.fullmatch(topic) is None
        )
        is_heartbeat = self._config.copies_heartbeats and original_name(self._naming, topic) == HEARTBEATS
        return (
            (is_wanted or is_heartbeat)
            and not is_internal(topic)
            and not comes_from(self._naming, topic, self._config.target_alias)
        )


class Copies:
    """Makes the copies of topics in the target, and widens and sets them as their topics are."""

    def __init__(self, config: MirrorSourceConfig, source: OtherCluster, target: OtherCluster) -> None:
        self._config, self._source, self._target = config, source, target
        self._kept = compile_pattern("|".join(config.configs_excluded)) if config.configs_excluded else None

    def keep(self, partitions: Mapping[str, int], deadline: Deadline) -> dict[str, int]:
        """Make the copies of these topics, and return how many partitions of each are copied: those that its copy has.

        What cannot be done for one topic is logged. ConnectError: no topic can be copied, with the first reason.
        """
        there = self._target.topics(deadline)
        configs = self._source.own_configs(list(partitions), deadline)
        found = self._found(partitions, there, deadline)
        copied, first = dict[str, int](), None
        for topic, count in partitions.items():
            copy = self._config.naming.target_name(topic)
            try:
                width = self._width(topic, count, configs.get(topic), there.get(copy), deadline)
                if width and copy in found and topic in configs:
                    self._set(copy, configs[topic], found[copy], deadline)
            except RetriableError:
                raise
            except ConnectError as error:
                first = first or error
                log.warning("Topic %s of the source is not copied: %s", topic, error)
                continue
            if width:
                copied[topic] = min(count, width)
        if first is not None and not copied:
            raise first
        return copied

    def _found(self, topics: Iterable[str], there: Mapping[str, int], deadline: Deadline) -> Configs:
        """Return the configs of the copies that are set anew."""
        # The worker's own login may set topics of others, too, which whoever owns the source would decide on.
        if not (self._config.syncs_configs and self._config.target_brokers):
            return {}
        copies = [self._config.naming.target_name(topic) for topic in topics]
        return self._target.own_configs([copy for copy in copies if copy in there], deadline)

    def _width(
        self, topic: str, count: int, configs: Mapping[str, str] | None, width: int | None, deadline: Deadline
    ) -> int:
        """Make or widen the copy of a topic. Return how many partitions it has, 0 if it is not copied."""
        copy = self._config.naming.target_name(topic)
        if "compact" in (configs or {}).get("cleanup.policy", ""):
            held = self._held(topic, copy, is_there=width is not None, deadline=deadline)
            if held is not None:
                log.warning(
                    "Topic %s of the source is not copied%s: it holds %s. To copy it, list it and its copy in "
                    "internal.topics.writable of the worker's file.", topic, " on" if width is not None else "", held,
                )  # fmt: skip
                return 0
        if width is not None:
            return width if width >= count else self._widened(topic, copy, width, count, deadline)
        if configs is None:
            raise ConnectError(f"No copy of {topic} is made, as its configs cannot be read: without them rows may go.")
        return self._made(topic, copy, count, self._wanted(configs), deadline)

    def _held(self, topic: str, copy: str, *, is_there: bool, deadline: Deadline) -> str | None:
        """Return which state of a cluster of workers would be copied; each topic that holds none is looked at once.

        Where the copy's name has no alias the topic of that name may be another: the target's own state. With an alias
        a topic that has a copy is copied on, unless its name is like that of such state, which MirrorMaker in Java has
        copied: no row may be written there. To look at all of many topics would take minutes.
        """
        if not is_there:
            return _state(self._source, self._config.source_brokers, topic, deadline)
        may_be_state = copy == topic or _LIKE_STATE.search(topic) is not None
        return _state(self._target, self._config.target_brokers, copy, deadline) if may_be_state else None

    def _widened(self, topic: str, copy: str, width: int, count: int, deadline: Deadline) -> int:
        # By the worker's own login, whoever owns the source would widen any topic that has the name of one of theirs.
        if copy == topic and not self._config.target_brokers:
            log.warning(
                "Topic %s has %d partitions and that of the source %d. The others are not copied until somebody gives "
                "it more, or target.cluster.bootstrap.servers is set.", copy, width, count,
            )  # fmt: skip
            return width
        try:
            self._target.widen_topic(copy, count, deadline)
        except (RetriableError, ConfigError):
            raise
        except ConnectError as error:
            log.warning("Topic %s keeps its %d partitions; no others of %s are copied: %s", copy, width, topic, error)
            return width
        log.info("Topic %s has %d partitions now, as %s of the source.", copy, count, topic)
        return count

    def _made(self, topic: str, copy: str, count: int, configs: Mapping[str, str], deadline: Deadline) -> int:
        try:
            is_new = self._target.make_topic(copy, count, self._config.replication_factor, configs, deadline)
        except (RetriableError, ConfigError):
            raise
        except ConnectError as error:
            raise ConnectError(
                f"Topic {copy}, the copy of {topic}, cannot be made with replication.factor="
                f"{self._config.replication_factor}: {error.message}",
                key="replication.factor",
                fix="Lower replication.factor to the number of brokers, or make the topic yourself.",
            ) from error
        if not is_new:  # somebody made it a moment ago
            return self._target.topics(deadline).get(copy, 0)
        log.info("Topic %s was made with %d partitions as the copy of %s.", copy, count, topic)
        return count

    def _set(self, copy: str, configs: Mapping[str, str], found: Mapping[str, str], deadline: Deadline) -> None:
        wanted, found = self._wanted(configs), self._wanted(found)
        changed = {name: value for name, value in wanted.items() if found.get(name) != value}
        removed = sorted(found.keys() - wanted.keys())
        if not (changed or removed):
            return
        try:
            self._target.change_configs(copy, changed, removed, deadline)
        except (RetriableError, ConfigError):
            raise
        except ConnectError as error:
            log.warning("The configs of topic %s stay as they are: %s", copy, error)

    def _wanted(self, configs: Mapping[str, str]) -> dict[str, str]:
        """Return those of a topic's configs that its copy takes."""
        kept = self._kept
        return {name: value for name, value in configs.items() if kept is None or kept.fullmatch(name) is None}


def _state(cluster: OtherCluster, brokers: str, topic: str, deadline: Deadline) -> str | None:
    """Return which state a topic holds, by the brokers or as this process has found before."""
    if (brokers, topic) in _FREE:
        return None
    held = cluster.state_of(topic, deadline)
    if held is None:
        if len(_FREE) >= _MOST_FREE:
            _FREE.clear()
        _FREE.add((brokers, topic))
    return held
