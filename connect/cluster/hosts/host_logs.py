"""Task hosts log at the levels of their worker and tell it their loggers, so that one REST call reaches all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from connect.cluster.hosts.host_pool import Launch
from connect.cluster.hosts.task_host import Host, HostListener
from connect.plugins.catalog import Catalog
from connect.runtime.task.messages import LoggersKnown, Message, SetLogLevel
from connect.telemetry.log_levels import LogLevels

FRAMEWORK: Final[Mapping[str, str]] = {
    "org.apache.kafka.connect.runtime": "connect",
    "org.apache.kafka.connect.storage": "connect.cluster",
    "org.apache.kafka.connect.transforms": "connect.transforms",
    "org.apache.kafka.clients": "connect.kafka",
}
"""Maps the packages of Kafka Connect to the packages here that do the same."""


def name_java_loggers(levels: LogLevels, catalog: Catalog) -> None:
    """Let the names of a Java worker's loggers stand for ours: a plug-in's Java class stands for its package here."""
    for plugin in catalog.plugins():
        module = plugin.factory.partition(":")[0]
        levels.alias(plugin.name, module.rpartition(".")[0] or module)
    for java, own in FRAMEWORK.items():
        levels.alias(java, own)


def at_worker_levels(launch: Launch, levels: LogLevels) -> Launch:
    """Return a `Launch` whose hosts log at these levels from their first line on."""

    def launched(name: str, listener: HostListener) -> Host:
        following = _Following(listener, levels)
        host = launch(name, following)
        following.begin(host)
        return host

    return launched


class _Following:
    """Keeps a host at the worker's levels, and passes all else on to its listener, on the host's reader thread."""

    def __init__(self, listener: HostListener, levels: LogLevels) -> None:
        self._listener = listener
        self._levels = levels
        self._follower: Callable[[str, str], None] | None = None
        self._ended = False

    def begin(self, host: Host) -> None:
        """Tell the host the present levels, and from now on each level that is set later."""
        self._follower = partial(_tell, host)
        self._levels.follow(self._follower)
        if self._ended:
            self._levels.unfollow(self._follower)

    def said(self, host: Host, message: Message) -> None:
        """See HostListener."""
        if isinstance(message, LoggersKnown):
            self._levels.name(message.names)
        else:
            self._listener.said(host, message)

    def ended(self, host: Host, reason: str) -> None:
        """See HostListener."""
        self._ended = True
        if self._follower is not None:
            self._levels.unfollow(self._follower)
        self._listener.ended(host, reason)


def _tell(host: Host, logger: str, level: str) -> None:
    host.send(SetLogLevel(logger, level))
