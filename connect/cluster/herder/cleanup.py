"""Has a deleted connector remove what it keeps in other systems.

The worker that deleted the connector does so once the connector's tasks have ended.

The connector is gone for good before this begins: nothing here delays its deletion or brings it back. What could not be
taken away is an error in the log, with the command to do it by hand.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final

from connect.cluster.hosts.supervisor import KILL_GRACE_S
from connect.cluster.loop.background import Background
from connect.cluster.loop.connector_calls import TRIES
from connect.cluster.loop.herder_parts import HerderParts
from connect.runtime.task.messages import CallResult, Method

TRY_S: Final = 20.0
"""A connector has this many seconds for one try."""
PAUSE_S: Final = 5.0
"""There are this many seconds between two tries."""
_ANSWER_S: Final = TRIES * (TRY_S + KILL_GRACE_S) + KILL_GRACE_S
_THREADS: Final = 4
"""A host answers this many calls at once. A call that waited there behind hanging ones would count as hanging too."""

Ask = Callable[[Method, Mapping[str, str], float], Future[CallResult]]
"""Calls a method of the connector that a configuration names; the last argument is the time-out in seconds."""

_logger = logging.getLogger(__name__)


class Cleanup:
    """Has deleted connectors clean up. Any thread may ask.

    It has threads and a task host of its own, so that clean-ups delay nothing but other clean-ups.
    Four that hang hold up a fifth until their host is killed, `TRY_S` and its grace later; systems that are away, for
    about a minute.
    """

    def __init__(self, parts: HerderParts, background: Background, ask: Ask, pause_s: float = PAUSE_S) -> None:
        self._parts = parts
        self._background = background
        self._ask = ask
        self._pause_s = pause_s
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="cleanup")

    def begin(self, name: str, config: Mapping[str, str]) -> None:
        """Begin to clean up after the connector of this last configuration, which was deleted. Returns at once."""
        if self._parts.catalog.cleans_up(config):
            self._threads.submit(self._clean_up, name, config).add_done_callback(partial(_tell_if_broken_off, name))

    def close(self) -> None:
        """Begin no more clean-ups, and do not wait for those that are begun."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _clean_up(self, name: str, config: Mapping[str, str]) -> None:
        deadline = self._background.deadline()
        self._background.await_stopped(name, deadline)
        while True:
            if name in self._parts.configs.snapshot.connectors:
                _logger.warning(
                    "connector_left_something",
                    extra={"connector": name, "reason": "There is a connector of this name again."},
                )
                return
            said = self._ask("clean_up", config, TRY_S).result(_ANSWER_S)
            if not said.retriable or not deadline.wait(self._pause_s):
                break
        if said.error is not None:
            _logger.error("cleanup_failed", extra={"connector": name, "reason": said.error})
        elif said.value is not None:
            _logger.warning("connector_left_something", extra={"connector": name, "reason": said.value})
        else:
            _logger.info("connector_left_nothing", extra={"connector": name})


def _tell_if_broken_off(name: str, cleanup: Future[None]) -> None:
    if cleanup.cancelled():
        _logger.error("cleanup_failed", extra={"connector": name, "reason": "The worker ended before."})
    elif (error := cleanup.exception()) is not None:
        _logger.error("cleanup_failed", extra={"connector": name, "reason": f"{type(error).__name__}: {error}"})
