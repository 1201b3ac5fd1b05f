"""Asks the brokers by the admin API until they answer or the deadline is over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata  # type: ignore[attr-defined]  # it re-exports them without saying so

from connect.api.errors import ConnectError, RetriableError
from connect.kafka.client.client_log import client_logger
from connect.kafka.client.connection_diagnosis import NOT_KAFKA, ConnectionErrors
from connect.kafka.client.errors import translate, translated
from connect.kafka.client.rights import Needs
from connect.lib.deadline import Deadline

Answer = Future[Any] | dict[Any, Future[Any]]
AskCoordinator = Callable[[AdminClient, float], Answer]

_CALL_S: Final = 10.0
"""One request may take so many seconds before it is made again."""
_LEAST_CALL_S: Final = 2.0
"""A request may take so many seconds also where that leaves less than half of the time for the next one."""
_FIRST_METADATA_S: Final = 2.0
"""The first question for metadata may take so long; each next one twice that."""
_COORDINATOR_CALL_S: Final = 2.0
"""The first question to a coordinator may take so long, as a new cluster has none yet; each next one twice that."""
_PAUSE_S: Final = 0.2
_LOOK_S: Final = 0.02
_POLL_S: Final = 0.1
# librdkafka's ListOffsets goes on asking former leaders; it learns of new ones by a request for metadata.
_STALE: Final = frozenset({
    KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.NOT_LEADER_FOR_PARTITION,
})  # fmt: skip

_SILENCE: Final = frozenset({KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT})  # noqa: SLF001 - librdkafka's own code


class RetryingAdmin:
    """Repeats an admin client's calls while their errors may pass. Any thread may use it."""

    def __init__(self, settings: Mapping[str, str | int | float | bool]) -> None:
        self._contact = ConnectionErrors()
        self._settings: dict[str, Any] = {**settings, "error_cb": self._contact.on_error}
        self.client = self._connect()

    def metadata(self, deadline: Deadline, doing: str, topic: str | None = None) -> ClusterMetadata:
        """Return the brokers' metadata about themselves and about all topics, or one.

        Raise RetriableError when no broker answered in time; it says why, as far as the client knows. Each further try
        is by a new client: librdkafka may leave the bootstrap servers for advertised addresses that nobody reaches.
        """
        limit_s = _FIRST_METADATA_S
        while True:
            try:
                found = self.client.list_topics(topic, timeout=min(limit_s, max(0.1, deadline.remaining_s)))
            except KafkaException as error:
                ours = translate(error.args[0], doing)
                if type(ours) is not RetriableError or not deadline.wait(_PAUSE_S):
                    raise self._with_cause(ours) from error
                limit_s = min(2 * limit_s, _CALL_S)
                self._renew()
            else:
                self._contact.met()
                return found

    def await_topic(self, name: str, deadline: Deadline) -> None:
        """Wait until a broker tells the leaders of a new topic, as brokers hear of it a moment after it was made.

        Return also when the deadline is over: the first use of the topic then fails with the reason. Raise
        RetriableError as `metadata` does.
        """
        while True:
            topic = self.metadata(deadline, f"asking for the leaders of topic {name}", name).topics[name]
            if topic.error is None and all(part.leader >= 0 for part in topic.partitions.values()):
                return
            if not deadline.wait(_LOOK_S):
                return

    def first_limit_s(self, deadline: Deadline, most_s: float = _CALL_S) -> float:
        """Return for how many seconds a first request is waited for, so that time is left for one by a new client."""
        return min(most_s, max(_LEAST_CALL_S, deadline.remaining_s / 2))

    def _renew(self) -> None:
        """Replace the client. Threads that wait for the former one get librdkafka's _DESTROY, and ask again."""
        self.client = self._connect()

    def _connect(self) -> AdminClient:
        with translated("making an admin client"):
            return AdminClient(self._settings, logger=client_logger("admin"))

    def _with_cause(self, error: ConnectError) -> ConnectError:
        self.client.poll(_POLL_S)  # what the client heard meanwhile
        if type(error) is not RetriableError:
            return error
        return RetriableError(f"{self._contact.trouble or NOT_KAFKA} ({error})")

    def call_coordinator(
        self,
        ask: AskCoordinator,
        deadline: Deadline,
        doing: str,
        *,
        ignore: Collection[int] = (),
        answers: Collection[int] = (),
    ) -> Any:
        """Ask a group's coordinator as `call` does, each time with a new client for this question alone.

        `ask` gets the seconds for which its answer is waited for. It gives its request the limit COORDINATOR_S of
        `connect.kafka.client.librdkafka`.
        """
        limit_s = _COORDINATOR_CALL_S
        while True:
            client = self._connect()
            how = partial(self.call, ignore=ignore, answers=answers, first_s=limit_s, by_own_client=False)
            try:
                return how(partial(ask, client), deadline.sooner(limit_s), doing)
            except RetriableError as error:
                if type(error) is not RetriableError:
                    raise
                told = error.message
            # librdkafka may look for a coordinator only a few times, and then wait for ever.
            del client, how
            if not deadline.wait(_PAUSE_S):
                raise RetriableError(told)
            limit_s = min(2 * limit_s, _CALL_S)

    def call(
        self,
        ask: Callable[[float], Answer],
        deadline: Deadline,
        doing: str,
        *,
        ignore: Collection[int] = (),
        answers: Collection[int] = (),
        again: Collection[int] = (),
        first_s: float = _CALL_S,
        needs: Needs | None = None,
        by_own_client: bool = True,
    ) -> Any:
        """Ask until there is an answer, and return it.

        Errors of `ignore` mean success, those of `answers` are raised as BrokerRefusedError, and those of `again` are
        retriable in this call. The first request may take `first_s` seconds before it is made again, each later one
        twice as long. A client that got no answer in time is replaced, as librdkafka may wait for ever for a broker
        that it takes for the controller and that is gone. `needs` says what to grant if the brokers deny the call.
        Without `by_own_client` the question goes by a client of the caller, which has all of `first_s` for an answer.
        """
        limit_s = self.first_limit_s(deadline, first_s) if by_own_client else first_s
        renew = self._renew if by_own_client else _keep
        while True:
            try:
                return _result(ask(min(limit_s, max(0.1, deadline.remaining_s))), deadline)
            except KafkaException as error:
                code = error.args[0].code()
                if code in ignore:
                    return None
                if code in answers:
                    raise BrokerRefusedError(doing) from error
                ours = translate(error.args[0], doing, needs)
                if code in again:
                    ours = RetriableError(ours.message)
                if code in _SILENCE:
                    renew()
                if type(ours) is not RetriableError or not deadline.wait(_PAUSE_S):
                    raise ours from error
                limit_s = min(2 * limit_s, _CALL_S)
                if code in _STALE:
                    self.metadata(deadline, doing)
            except TimeoutError as error:
                renew()
                raise RetriableError(f"Failed {doing}: no answer from the brokers in time.") from error


class BrokerRefusedError(Exception):
    """Says that the broker refused the request with an error that the caller expects."""


def _keep() -> None:
    """Keep the client that was asked: it is the caller's."""


def _result(answer: Answer, deadline: Deadline) -> Any:
    if isinstance(answer, dict):
        return {key: _result(future, deadline) for key, future in answer.items()}
    while True:
        try:
            return answer.result(_POLL_S)
        except TimeoutError:
            if deadline.expired:
                raise
