"""Write each record by one command: at least once.

SET, HSET and JSONSET leave each key's last value, however often they are sent; what adds to streams, lists and sets may
add a record twice after a crash, to sets without a trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext, SinkTask
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.write_through import WriteThroughTask
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connectors.redis.commands import Command, commands_of
from connectors.redis.config import HostsRedisSinkConfig, RedisSinkConfig, Target

if TYPE_CHECKING:
    import redis

_COMMANDS_OF_A_REQUEST: Final = 1000
_CONNECT_S: Final = 10.0
RedisKeys = RedisSinkConfig | HostsRedisSinkConfig


class RedisSinkConnector:
    """The connector that plans the tasks of one sink. It connects only in `check`."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, RedisKeys)
        self._config = config
        self._config.target()

    def check(self, deadline: Deadline) -> None:
        """Ask the server if it is there. ConfigError: it is not, or refuses the user."""
        del deadline
        target = self._config.target()
        client = _client(target)
        try:
            _sent(client, target, [("PING",)])
        except RetriableError as error:
            raise ConfigError(error.message, fix="Check the address, and that Redis runs there.") from None
        finally:
            client.close()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same settings for all tasks, as Kafka shares out the partitions."""
        return [dict(self._config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]) -> SinkTask:
        """Return a task, which is not connected yet."""
        return RedisSinkTask(type(self._config).parse(config))


class RedisSinkTask(WriteThroughTask):
    """The task writes each batch at once. The task thread owns it."""

    def __init__(self, config: RedisKeys) -> None:
        super().__init__()
        self._target = config.target()
        self._client = _client(self._target)

    def open(self, ctx: SinkContext) -> None:
        """Do nothing: the task connects with the first rows."""

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Write the rows. RetriableError: the server is away; the same batch comes again as a whole."""
        commands, bad = commands_of(self._target, batch) if len(batch) else ([], {})
        for start in range(0, len(commands), _COMMANDS_OF_A_REQUEST):
            part = commands[start : start + _COMMANDS_OF_A_REQUEST]
            if deadline.expired:
                raise RetriableError("There was no time left to write the records.")
            answers = _sent(self._client, self._target, [command for _, command in part])
            bad |= {row: error for (row, _), error in zip(part, answers, strict=True) if error is not None}
        self._done(batch, bad)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _client(target: Target) -> redis.Redis:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    tls: dict[str, Any] = {}
    if target.tls:
        checks = "required" if target.checks_host else "none"
        tls = {
            "ssl": True,
            "ssl_ca_certs": target.certificates,
            "ssl_cert_reqs": checks,
            "ssl_check_hostname": target.checks_host,
        }
    return redis.Redis(
        host=target.host,
        port=target.port,
        db=target.database,
        username=target.username or None,
        password=target.password or None,
        socket_timeout=target.timeout_s,
        socket_connect_timeout=min(target.timeout_s, _CONNECT_S),
        retry=Retry(NoBackoff(), 0),  # the framework tries again, with its own waits
        **tls,
    )


def _sent(client: redis.Redis, target: Target, commands: Sequence[Command]) -> list[ConnectError | None]:
    """Send commands, and return for each why it was refused; None: it was not.

    RetriableError: the server is away, still starts, is out of memory or takes no writes. ConfigError: it refuses the
    user.
    """
    from redis import exceptions as e

    where = f"Redis at {target.host}:{target.port}"
    pipeline = client.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)  # type: ignore[no-untyped-call]  # redis has no types here
    try:
        answers = pipeline.execute(raise_on_error=False)
    except (e.AuthenticationError, e.NoPermissionError) as error:
        raise ConfigError(f"{where} refuses access: {error}", key="redis.password") from None
    except (e.ConnectionError, e.TimeoutError, OSError) as error:
        raise RetriableError(f"{where} does not answer ({type(error).__name__}).") from None
    for answer in answers:
        if isinstance(answer, e.AuthenticationError | e.NoPermissionError):
            raise ConfigError(f"{where} refuses access: {answer}", key="redis.password")
        if isinstance(answer, e.ConnectionError | e.OutOfMemoryError | e.ReadOnlyError | e.TryAgainError):
            raise RetriableError(f"{where} cannot do that for now: {answer}.")
    return [ConnectError(f"Redis refused it: {a}.") if isinstance(a, e.RedisError) else None for a in answers]
