"""Sends one command for each record, at least once.

SET, HSET and JSONSET keep each key's last value, however often they are sent, and in a set a second member leaves no
trace. What adds to streams and lists is sent in transactions, and a batch that is put again goes on behind the last one
that was answered. So a record is there twice only where the task, or Redis before it answers, is killed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext, SinkTask
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.target_answers import TargetAnswers
from connect.api.optional.write_through import WriteThroughTask
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connectors.redis.commands import commands_of
from connectors.redis.config import OF_ADDITIONS, HostsRedisSinkConfig, RedisSinkConfig
from connectors.redis.server import RedisServer

_COMMANDS_OF_A_REQUEST: Final = 1000
RedisKeys = RedisSinkConfig | HostsRedisSinkConfig


class RedisSinkConnector:
    """Gives the tasks of one sink their settings. It connects only in `check`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, RedisKeys)
        self._config = config
        self._config.target()

    def check(self, deadline: Deadline) -> None:
        """Ask the server if it is there. Raise ConfigError if it is not, or if it refuses the user."""
        del deadline
        target = self._config.target()
        server = RedisServer(target)
        try:
            server.send([("PING",)], [])
        except RetriableError as error:
            raise ConfigError(error.message, fix="Check the address, and that Redis runs there.") from None
        finally:
            server.close()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same settings for all tasks, as Kafka assigns the partitions."""
        return [dict(self._config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]) -> SinkTask:
        """Return a task, which is not connected yet."""
        return RedisSinkTask(type(self._config).parse(config))


class RedisSinkTask(WriteThroughTask):
    """The task writes each batch at once. The task thread owns it."""

    def __init__(self, config: RedisKeys) -> None:
        super().__init__()
        self._target = config.target()
        self._server = RedisServer(self._target)
        self._answers: TargetAnswers[ConnectError | None] = TargetAnswers()
        adds = self._target.command in OF_ADDITIONS
        self._send = self._server.send_together if adds else self._server.send

    def open(self, ctx: SinkContext) -> None:
        """Do nothing: the task connects with the first rows."""

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Write the rows. Raise RetriableError if the server is away; the same batch goes on behind the last answer."""
        assert batch.consumed is not None
        commands, bad = commands_of(self._target, batch) if len(batch) else ([], {})
        answered = self._answers.to(batch)
        while len(answered) < len(commands):
            if deadline.expired:
                raise RetriableError("There was no time left to write the records.")
            part = commands[len(answered) : len(answered) + _COMMANDS_OF_A_REQUEST]
            self._send([command for _, command in part], answered)
        bad |= {row: error for (row, _), error in zip(commands, answered, strict=True) if error is not None}
        self._answers.forget([batch.consumed.topic_partition])
        self._done(batch, bad)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what was answered of these partitions before."""
        self._answers.forget(partitions)

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what was answered of these partitions."""
        super().revoked(partitions)
        self._answers.forget(partitions)

    def close(self) -> None:
        """Close the connection."""
        self._server.close()
