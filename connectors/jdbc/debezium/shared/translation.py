"""Translates the settings that Debezium's connectors share to those of mode=log, and problems back. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import Final

from connect.api.allowed_paths import ALLOWED_PATHS
from connect.api.errors import ConfigError, ConfigProblem, ConnectError
from connect.api.topics import TopicRecords
from connect.lib.javatext.regex import compile_pattern
from connectors.jdbc.debezium.shared.file_signals import FileSignals
from connectors.jdbc.debezium.shared.keys import SIGNAL_CLIENT, DebeziumConfig, EventKeys
from connectors.jdbc.debezium.shared.topic_signals import TopicSignals
from connectors.jdbc.log.incremental.signals import FindsSignals, Found, Signal, none_found
from connectors.jdbc.log.shared.envelope import Headers
from connectors.jdbc.log.shared.reading_options import ReadingOptions
from connectors.jdbc.log.shared.session import LogSession
from connectors.jdbc.settings.table_choice import TableName

_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "connection.url": "database.hostname", "connection.user": "database.user", "mode": "database.hostname",
        "connection.password": "database.password", "table.whitelist": "table.include.list",
    }
)  # fmt: skip
_SNAPSHOT_MODES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "exported": "initial",
        **dict.fromkeys(("never", "schema_only", "recovery", "schema_only_recovery"), "no_data"),
    }
)
_EVERY_TABLE: Final = "(?s:.*)"


def shared_settings(config: DebeziumConfig, tables: str) -> dict[str, str]:
    """Return the reader's settings that all of Debezium's connectors translate alike."""
    heartbeat_prefix = config.heartbeat_topics_prefix or config.heartbeat_topic_prefix
    return {
        "connection.user": config.user, "connection.password": config.password.get_secret_value(),
        "mode": "log", "topic.prefix": config.prefix, "heartbeat.interval.ms": str(config.heartbeat_interval_ms),
        "topic.name.format": config.topic_delimiter.join(("${prefix}", "${schema}", "${table}")),
        "topic.heartbeat.prefix": heartbeat_prefix,
        "heartbeat.topic": f"{heartbeat_prefix}{config.topic_delimiter}{config.prefix}",
        "tombstones.on.delete": str(config.tombstones_on_delete).lower(),
        "skipped.operations": ",".join(config.skipped_operations), "max.batch.size": str(config.max_batch_size),
        "tables": tables, ALLOWED_PATHS: ",".join(config.allowed.paths),
    }  # fmt: skip


def snapshot_mode(config: DebeziumConfig, name: str) -> str:
    """Return the reader's name for a snapshot.mode of Debezium."""
    if name != "configuration_based":
        return _SNAPSHOT_MODES.get(name, name)
    if config.snapshots_data:
        return "always" if config.starts_stream else "initial_only"
    return "when_needed" if config.snapshots_on_loss else "no_data"


def reading_options(config: DebeziumConfig, headers: Headers, session: LogSession) -> ReadingOptions:
    """Return the options that the reader has beside its settings. `headers` makes the events' headers."""
    firsts = [compile_pattern(f"(?i){pattern}") for pattern in config.snapshot_includes]
    return ReadingOptions(
        headers,
        skips_unchanged=config.skip_unchanged,
        reads_first=lambda table: not firsts or any(pattern.fullmatch(table.full) for pattern in firsts),
        selects=config.selects,
        heartbeat_query=config.heartbeat_action_query,
        signal_table=_signal_table(config),
        signals=_signals(config, session),
        chunk_rows=config.chunk_rows,
        transaction_topic=config.own_transaction_topic,
    )


def _signals(config: DebeziumConfig, session: LogSession) -> FindsSignals:
    """Return a function that finds signals in the file and in the topic, as signal.enabled.channels says."""
    interval_s = config.signal_poll_interval_ms / 1000
    of_file: Callable[[], Sequence[Signal]] = tuple
    of_topic: FindsSignals = none_found
    if "file" in config.signal_channels:
        of_file = FileSignals(config.allowed, config.signal_file, interval_s)
    if "kafka" in config.signal_channels and session.records_of is not None:
        topic = config.own_signal_topic
        open_ = partial(session.records_of, topic, config.signal_client, SIGNAL_CLIENT)
        of_topic = TopicSignals(partial(_by_key_of_brokers, open_), topic, config.prefix, interval_s)

    def found(topic_offset: int | None) -> Found:
        signals, offset = of_topic(topic_offset)
        return Found([*of_file(), *signals], offset)

    return found


def _by_key_of_brokers(open_: Callable[[], TopicRecords]) -> TopicRecords:
    """Open the topic of signals. ConfigError: its brokers are wrong; the error is on the key that names them."""
    try:
        return open_()
    except ConfigError as error:
        own, given = "signal.kafka.bootstrap.servers", f"{SIGNAL_CLIENT}bootstrap.servers"
        raise ConfigError(
            ConfigProblem(problem.key.replace(given, own), problem.message.replace(given, own))
            for problem in error.problems
        ) from error


def _signal_table(config: DebeziumConfig) -> TableName | None:
    group, dot, name = config.signal_collection.rpartition(".")
    return TableName(group, name) if dot and "source" in config.signal_channels else None


def included_tables(config: EventKeys, groups: Sequence[str]) -> Sequence[str]:
    """Return the reader's patterns of tables that are read. They match whole names in any case, as in Debezium.

    `groups` are patterns of schemas or databases; a table must be in one of these, too.
    """
    tables = config.table_include or config.table_whitelist or (_EVERY_TABLE,)
    in_group = rf"(?=(?i:{'|'.join(groups)})\.[^.]*$)" if groups else ""
    return [f"{in_group}(?i:{pattern})" for pattern in tables]


def excluded_tables(config: EventKeys, groups: Sequence[str]) -> Sequence[str]:
    """Return the reader's patterns of tables that are not read. `groups` are patterns of schemas or databases that are
    not read.
    """
    tables = config.table_exclude or config.table_blacklist
    return [*(f"(?i:{pattern})" for pattern in tables), *(rf"(?i:{pattern})\.[^.]*" for pattern in groups)]


def columns_left_out(config: EventKeys) -> Callable[[str], bool]:
    """Return a function that tells by a column's full name if no record holds it."""
    wanted, unwanted = (
        [compile_pattern(f"(?i){pattern}") for pattern in patterns]
        for patterns in (
            config.column_include or config.column_whitelist, config.column_exclude or config.column_blacklist,
        )
    )  # fmt: skip

    def left_out(name: str) -> bool:
        is_wanted = not wanted or any(pattern.fullmatch(name) for pattern in wanted)
        return not is_wanted or any(pattern.fullmatch(name) for pattern in unwanted)

    return left_out


@contextmanager
def by_own_keys() -> Iterator[None]:
    """Raise the reader's problems that are found inside the block on Debezium's keys instead of the reader's."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(_own(problem) for problem in error.problems) from error
    except ConnectError as error:
        if error.key is not None and error.key in _KEYS:
            error.key = _KEYS[error.key]
        raise


def _own(problem: ConfigProblem) -> ConfigProblem:
    text = problem.message
    for name, own in _KEYS.items():
        if "." in name:
            text = text.replace(name, own)
    return ConfigProblem(_KEYS.get(problem.key, problem.key), text.replace("mode=log", "this connector"))
