"""Sends a request for each record, or for several: at least once, in the order of each partition.

A request without an answer is sent again. The task remembers which requests of its batch were answered until all are:
where the same batch is put again, it sends none of these twice.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from connect.api.config import ConnectorConfig
from connect.api.connector import SinkContext, SinkTask
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.target_answers import TargetAnswers
from connect.api.optional.write_through import WriteThroughTask
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connectors.http.api.config import AivenHttpSinkConfig, HttpSinkConfig
from connectors.http.api.request_plan import Request, requests_of
from connectors.http.calls.peer import Caller

_SHOWN_CHARS = 500


HttpKeys = HttpSinkConfig | AivenHttpSinkConfig


class HttpSinkConnector:
    """Makes the tasks of one sink. It sends no request itself."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, HttpKeys)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Read the TLS files. Nothing is sent: any request may change something. ConfigError: one cannot be used."""
        del deadline
        self._config.plan()

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the same settings for all tasks, as Kafka shares out the partitions."""
        return [dict(self._config.originals)] * max_tasks

    def task(self, config: Mapping[str, str]) -> SinkTask:
        """Return a task, which is not connected yet."""
        return HttpSinkTask(type(self._config).parse(config))


class HttpSinkTask(WriteThroughTask):
    """Sends each batch at once. Owned by the task thread."""

    def __init__(self, config: HttpKeys) -> None:
        super().__init__()
        self._config = config
        self._answers: TargetAnswers[ConnectError | None] = TargetAnswers()
        self._failures = 0
        self._next_at_s = 0.0
        self._left_out = 0

    def open(self, ctx: SinkContext) -> None:
        """Read the TLS files; the task connects with the first rows. ConfigError: a file cannot be used."""
        self._ctx = ctx
        self._plan = self._config.plan()
        self._caller = Caller(self._plan.peer)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what was answered of these partitions before."""
        self.revoked(partitions)

    def put(self, batch: Batch, deadline: Deadline) -> None:
        """Send the rows. RetriableError: the server is away; the same batch goes on behind the rows that were sent."""
        assert batch.consumed is not None
        bad = self._send(batch, deadline) if len(batch) else {}
        self._answers.forget([batch.consumed.topic_partition])
        self._done(batch, bad)

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        """Forget what was answered of these partitions."""
        super().revoked(partitions)
        self._answers.forget(partitions)

    def close(self) -> None:
        """Close the connections."""
        if hasattr(self, "_caller"):
            self._caller.close()

    def _send(self, batch: Batch, deadline: Deadline) -> dict[int, Exception]:
        requests, bad = requests_of(self._plan, batch)
        answers = self._answers.to(batch)
        for request in requests[len(answers) :]:
            answers.append(self._ask(request, deadline))
        for request, refusal in zip(requests, answers, strict=True):
            if refusal is not None:
                bad |= dict.fromkeys(request.rows, refusal)
        return bad

    def _ask(self, request: Request, deadline: Deadline) -> ConnectError | None:
        """Send a request; return why it was refused for good. RetriableError: it is to be sent again."""
        wait_s = self._next_at_s - time.monotonic()
        if wait_s > 0 and not deadline.wait(wait_s):
            raise RetriableError("The next try to send the records is still to come.")
        answer = self._caller.ask(request.method, request.path, deadline, body=request.body)
        if answer.status < 300:
            self._failures = 0
            return None
        text = answer.data[:_SHOWN_CHARS].decode(errors="replace")
        told = f"HTTP {answer.status} {answer.reason}: {text}"
        if any(answer.status in some for some in self._plan.retried) and self._failures < self._plan.retries:
            self._failures += 1
            self._next_at_s = time.monotonic() + self._plan.retry_backoff_s
            raise RetriableError(f"The server refused records ({told}); try {self._failures} of {self._plan.retries}.")
        self._failures = 0
        if answer.status in {401, 403}:
            raise ConfigError(f"The server refuses access ({told}).", fix="Check user, password and token.")
        if self._plan.leaves_out:
            self._left_out += len(request.rows)
            text = f"Records refused and left out: {self._left_out}. The last one: {told}"
            self._ctx.note([" ".join(text.split())[:_SHOWN_CHARS]])
            return None
        return ConnectError(f"The server refused the record ({told}).")
