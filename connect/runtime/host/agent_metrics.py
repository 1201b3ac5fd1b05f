"""Serves an agent's figures over HTTP in Prometheus' text format, under the same names as a worker's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from connect.api.errors import ConfigError
from connect.runtime.host.listen_errors import cannot_listen
from connect.telemetry.metric_families import ConnectorStates, WorkerFigures, families

KEY: Final = "--metrics"


class MetricsAddress(NamedTuple):
    """Holds the host and port at which the figures are served."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> MetricsAddress:
        """Parse HOST:PORT, or a port alone, which serves this machine only. Raise ConfigError if it is neither."""
        host, _, port = text.rpartition(":")
        if not port.isdecimal() or not 0 <= int(port) <= 65_535:
            raise ConfigError(f"{text!r} is no address.", key="metrics", fix="Write a port, or HOST:PORT.")
        return cls(host.strip("[]") or "127.0.0.1", int(port))


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """Holds an agent's state and figures for one scrape. `state` is running, restarting, failed or stopped."""

    name: str
    state: str
    figures: Mapping[str, float]


class AgentMetrics(Collector):
    """Asks the agent at each scrape, on the server's thread."""

    def __init__(self, now: Callable[[], AgentFigures], about: Mapping[str, str]) -> None:
        """Keep the figures' getter and `about`, the labels of kafka_connect_app_info."""
        self._now = now
        self._about = about
        self._close: Callable[[], None] = lambda: None

    def collect(self) -> Iterator[Metric]:
        """Return all families of metrics, for the Prometheus client."""
        now = self._now()
        states = ConnectorStates(now.state, {"0": now.state}, kind="source")
        return families(WorkerFigures(self._about, {(now.name, "0"): now.figures}, {now.name: states}))

    def serve(self, address: MetricsAddress) -> int:
        """Serve the figures on another thread and return the port. Raise ConfigError if the address cannot be had."""
        registry = CollectorRegistry()
        registry.register(self)
        ProcessCollector(registry=registry)
        try:
            server, thread = start_http_server(address.port, address.host, registry)
        except OSError as error:
            doing = f"Metrics cannot be served at {address.host}:{address.port}"
            raise cannot_listen(error, doing, address.host, address.port, KEY) from error

        def close() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        self._close = close
        return int(server.server_port)

    def close(self) -> None:
        """End the server. May be called twice."""
        close, self._close = self._close, lambda: None
        close()
