"""Chooses the topics of the source that are copied, and keeps their copies in the target as wide and set alike."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.other_clusters import OtherCluster
from connect.lib.deadline import Deadline
from connect.lib.javatext.regex import compile_pattern
from connectors.mirror.config import MirrorSourceConfig
from connectors.mirror.policy import HEARTBEATS, comes_from, is_internal, original_name

log = logging.getLogger(__name__)


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
        """Make the copies of these topics, each with as many partitions at least. Return the topics that are copied.

        A topic that holds the state of a cluster of workers is left out: its copy would be taken for that state.
        ConnectError: a copy cannot be made.
        """
        there, copied = self._target.topics(deadline), dict[str, int]()
        for topic, count in partitions.items():
            configs = self._source.own_configs(topic, deadline)
            if "compact" in configs.get("cleanup.policy", "") and (held := self._source.state_of(topic)):
                log.warning(
                    "Topic %s of the source is not copied: it holds %s. To copy it, list it and its copy in "
                    "internal.topics.writable of the worker's file.", topic, held,
                )  # fmt: skip
                continue
            copied[topic] = count
            self._keep(topic, count, configs, there, deadline)
        return copied

    def _keep(
        self, topic: str, count: int, configs: Mapping[str, str], there: Mapping[str, int], deadline: Deadline
    ) -> None:
        copy = self._config.naming.target_name(topic)
        wanted = {name: value for name, value in configs.items() if self._is_copied(name)}
        if copy not in there:
            self._make(topic, copy, count, wanted, deadline)
            return
        if there[copy] < count:
            self._target.widen_topic(copy, count, deadline)
            log.info("Topic %s has %d partitions now, as %s of the source.", copy, count, topic)
        # The worker's own login may set topics of others, too, which whoever owns the source would decide on.
        if self._config.syncs_configs and self._config.target_brokers:
            self._set(copy, wanted, deadline)

    def _make(self, topic: str, copy: str, count: int, configs: Mapping[str, str], deadline: Deadline) -> None:
        try:
            self._target.make_topic(copy, count, self._config.replication_factor, configs, deadline)
        except (RetriableError, ConfigError):
            raise
        except ConnectError as error:
            raise ConnectError(
                f"Topic {copy}, the copy of {topic}, cannot be made with replication.factor="
                f"{self._config.replication_factor}: {error.message}",
                key="replication.factor",
                fix="Lower replication.factor to the number of brokers, or make the topic yourself.",
            ) from error
        log.info("Topic %s was made with %d partitions as the copy of %s.", copy, count, topic)

    def _set(self, copy: str, wanted: Mapping[str, str], deadline: Deadline) -> None:
        found = {
            name: value for name, value in self._target.own_configs(copy, deadline).items() if self._is_copied(name)
        }
        changed = {name: value for name, value in wanted.items() if found.get(name) != value}
        removed = sorted(found.keys() - wanted.keys())
        if changed or removed:
            self._target.change_configs(copy, changed, removed, deadline)

    def _is_copied(self, name: str) -> bool:
        return self._kept is None or self._kept.fullmatch(name) is None
