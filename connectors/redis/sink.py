"""Sends one command for each record, at least once.

SET, HSET and JSONSET keep each key's last value, however often they are sent. The commands that add to streams and
lists may add a record twice after a crash; in a set the second one leaves no trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext, SinkTask
from connect.api.errors import ConfigError, RetriableError
from connect.api.optional.write_through import WriteThroughTask
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connectors.redis.commands import commands_of
from connectors.redis.config import HostsRedisSinkConfig, RedisSinkConfig
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
            server.send([("PING",)])
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

    def open(self, ctx: SinkContext) -> None:
        """Do nothing: the task connects with the first rows."""

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Write the rows. Raise RetriableError if the server is away; then the whole batch comes again."""
        commands, bad = commands_of(self._target, batch) if len(batch) else ([], {})
        for start in range(0, len(commands), _COMMANDS_OF_A_REQUEST):
            part = commands[start : start + _COMMANDS_OF_A_REQUEST]
            if deadline.expired:
                raise RetriableError("There was no time left to write the records.")
            answers = self._server.send([command for _, command in part])
            bad |= {row: error for (row, _), error in zip(part, answers, strict=True) if error is not None}
        self._done(batch, bad)

    def close(self) -> None:
        """Close the connection."""
        self._server.close()
