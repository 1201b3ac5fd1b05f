"""Declares the settings of the mirror source, by the keys of MirrorMaker. Values only: no Arrow, no I/O.

Source: MirrorConnectorConfig and MirrorSourceConfig of Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final

from pydantic import AfterValidator

from connect.api.config import Boolean, ClassName, ConnectorConfig, Int, ListOf, String, at_least, key, non_empty
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connectors.mirror.topic_naming import DefaultNaming, IdentityNaming, NamingPolicy

CLUSTERS, TOPICS = "Clusters", "Topics"
_MIRROR: Final = "org.apache.kafka.connect.mirror."
DEFAULT_POLICY: Final = f"{_MIRROR}DefaultReplicationPolicy"
IDENTITY_POLICY: Final = f"{_MIRROR}IdentityReplicationPolicy"
BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
SOURCE: Final = "source.cluster."
TARGET: Final = "target.cluster."
_EXCLUDED: Final = ("mm2.*\\.internal", ".*\\.replica", "__.*")
_EXCLUDED_CONFIGS: Final = (
    "follower\\.replication\\.throttled\\.replicas", "leader\\.replication\\.throttled\\.replicas",
    "message\\.timestamp\\.difference\\.max\\.ms", "log\\.message\\.timestamp\\.before\\.max\\.ms",
    "log\\.message\\.timestamp\\.after\\.max\\.ms", "message\\.timestamp\\.type",
    "unclean\\.leader\\.election\\.enable", "min\\.insync\\.replicas",
)  # fmt: skip
_UNUSED: Final[Mapping[str, str]] = {
    "topic.filter.class": "topics and topics.exclude choose the topics",
    "config.property.filter.class": "config.properties.exclude chooses the configs",
    "offset-syncs.topic.location": "no offset syncs are written",
    "offset-syncs.topic.replication.factor": "no offset syncs are written",
    "offset.lag.max": "no offset syncs are written",
    "use.defaults.from": "defaults of the source are never copied",
}
"""Tells of each of these keys of MirrorMaker why it changes nothing here."""


def _policy(name: str) -> str:
    if name not in {DEFAULT_POLICY, IDENTITY_POLICY}:
        raise ValueError(f"Class {name} could not be found. There are: {DEFAULT_POLICY}, {IDENTITY_POLICY}")
    return name


def _patterns(given: tuple[str, ...]) -> tuple[str, ...]:
    try:
        compile_pattern("|".join(given))
    except JavaPatternError as error:
        raise ValueError(f"no Java pattern: {error}") from None
    return given


_Patterns = Annotated[ListOf, AfterValidator(_patterns)]


class MirrorSourceConfig(ConnectorConfig):
    """Says which topics of which cluster are copied, and how the copies are called."""

    families = (
        SOURCE, TARGET, "source.consumer.", "source.admin.", "source.producer.", "target.admin.", "target.producer.",
        "consumer.", "admin.", "producer.",
    )  # fmt: skip
    source_alias: Annotated[String, non_empty] = key(
        "source.cluster.alias", "source", importance="high", group=CLUSTERS,
        doc="What the source is called in the names of copies.",
    )  # fmt: skip
    target_alias: String = key(
        "target.cluster.alias", "target", importance="high", group=CLUSTERS,
        doc="What the target is called in the names of copies: topics that came from it are not copied back.",
    )  # fmt: skip
    source_brokers: Annotated[String, non_empty] = key(
        "source.cluster.bootstrap.servers", importance="high", group=CLUSTERS, reach=Reach.HOST,
        doc="The brokers of the source. source.cluster.*, source.consumer.* and source.admin.* are further settings of "
        "its clients, as the login; nothing of the worker's own clients is taken.",
    )  # fmt: skip
    target_brokers: String = key(
        "target.cluster.bootstrap.servers", "", group=CLUSTERS, reach=Reach.HOST,
        doc="The brokers where topics are made, with target.cluster.* and target.admin.*; empty: the worker's, where "
        "copies that are there keep their configs. Records go where the worker's producers write.",
    )  # fmt: skip
    topics: _Patterns = key(
        "topics", (".*",), importance="high", group=TOPICS, doc="Regular expressions of the names of topics to copy."
    )
    topics_excluded: _Patterns = key(
        "topics.exclude", _EXCLUDED, importance="high", group=TOPICS, former=("topics.blacklist",),
        doc="Regular expressions of topics that are left out.",
    )  # fmt: skip
    policy_class: Annotated[ClassName, AfterValidator(_policy)] = key(
        "replication.policy.class", DEFAULT_POLICY, importance="low", group=TOPICS,
        doc="How copies are called: with the alias before the name (DefaultReplicationPolicy), or by the same name.",
    )  # fmt: skip
    separator: Annotated[String, non_empty] = key(
        "replication.policy.separator", ".", importance="low", group=TOPICS, doc="What stands behind the alias."
    )
    copies_heartbeats: Boolean = key(
        "heartbeats.replication.enabled", True, importance="low", group=TOPICS,
        doc="Copy the topic heartbeats, too, whatever topics says.",
    )  # fmt: skip
    replication_factor: Annotated[Int, at_least(1)] = key(
        "replication.factor", 2, group=TOPICS, doc="The replicas of topics that are made in the target."
    )
    refreshes: Boolean = key(
        "refresh.topics.enabled", True, importance="low", group=TOPICS, doc="Look for new topics and partitions."
    )
    refresh_s: Annotated[Int, at_least(1)] = key(
        "refresh.topics.interval.seconds", 600, importance="low", group=TOPICS, doc="How often."
    )
    syncs_configs: Boolean = key(
        "sync.topic.configs.enabled", True, importance="low", group=TOPICS,
        doc="Keep the copies at the configs of their topics, which they are made with in any case.",
    )  # fmt: skip
    sync_configs_s: Annotated[Int, at_least(1)] = key(
        "sync.topic.configs.interval.seconds", 600, importance="low", group=TOPICS,
        doc="How often; the shorter of both intervals counts for both.",
    )  # fmt: skip
    configs_excluded: _Patterns = key(
        "config.properties.exclude", _EXCLUDED_CONFIGS, importance="low", former=("config.properties.blacklist",),
        group=TOPICS, doc="Regular expressions of configs that copies keep for themselves.",
    )  # fmt: skip
    syncs_acls: Boolean = key(
        "sync.topic.acls.enabled", True, importance="low", group=TOPICS,
        doc="Has no effect: rights are not copied here.",
    )  # fmt: skip
    emits_offset_syncs: Boolean = key(
        "emit.offset-syncs.enabled", True, importance="low", group=TOPICS,
        doc="Has no effect: no offset syncs are written, so no checkpoints can be made of what is copied here.",
    )  # fmt: skip

    @property
    def naming(self) -> NamingPolicy:
        """Return how copies are called."""
        default = DefaultNaming(self.source_alias, self.separator)
        return default if self.policy_class == DEFAULT_POLICY else IdentityNaming(default)

    @property
    def source_client(self) -> Mapping[str, str]:
        """Return the settings of clients that read the source, by Java's names."""
        return self._client(SOURCE, "source.", "consumer.")

    @property
    def source_admin(self) -> Mapping[str, str]:
        """Return the settings of clients that ask the source for its topics."""
        return self._client(SOURCE, "source.", "admin.")

    @property
    def target_admin(self) -> Mapping[str, str]:
        """Return the settings of clients that make topics in the target."""
        return self._client(TARGET, "target.", "admin.")

    def _client(self, cluster: str, side: str, client: str) -> Mapping[str, str]:
        """Return the settings of a cluster, then those of this client of both, then those of its own."""
        of_all = {name: value for name, value in self.with_prefix(cluster).items() if name != "alias"}
        of_both = {name: value for name, value in self.with_prefix(client).items() if not name.startswith("override.")}
        return {**of_all, **of_both, **self.with_prefix(f"{side}{client}")}

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield a problem for exactly-once without committed reads."""
        isolation = self.source_client.get("isolation.level", "read_uncommitted")
        if self.originals.get("exactly.once.support", "").lower() == "required" and isolation != "read_committed":
            yield ConfigProblem(
                "exactly.once.support",
                "exactly.once.support=required needs source.consumer.isolation.level=read_committed: records of "
                "transactions that were aborted would be copied.",
            )

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield what the settings leave undone, and where bytes would change on their way."""
        for name in ("key.converter", "value.converter", "header.converter"):
            if self.originals.get(name, "").rpartition(".")[2] != "ByteArrayConverter":
                yield ConfigProblem(
                    name,
                    f"{name} is not {BYTES} here: the copies differ from their records unless it is the worker's. "
                    f"Set {name}={BYTES}.",
                )
        alias = self.originals.get("source.cluster.alias", "source")
        if alias == self.originals.get("target.cluster.alias", "target"):
            yield ConfigProblem(
                "target.cluster.alias",
                f"Both clusters are called {alias}: topics that came from there are not copied, and none at all with "
                "IdentityReplicationPolicy. Give each an alias of its own.",
            )
        for name in sorted(self.originals.keys() & _UNUSED.keys()):
            yield ConfigProblem(name, f"{name} has no effect here: {_UNUSED[name]}.")
        if self.originals.get("emit.offset-syncs.enabled", "").lower() == "true":
            yield ConfigProblem(
                "emit.offset-syncs.enabled",
                "emit.offset-syncs.enabled has no effect here: no offset syncs are written.",
            )
        if self.originals.get("sync.topic.acls.enabled", "").lower() == "true":
            yield ConfigProblem(
                "sync.topic.acls.enabled", "sync.topic.acls.enabled has no effect here: rights are not copied."
            )
