"""Holds what every resource may use: the cluster, plug-ins, the worker's settings. A server has one, which never
changes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from connect import __version__
from connect.cluster.model.operations import Operations
from connect.cluster.validation.check import Validator
from connect.plugins.catalog import Catalog
from connect.rest.server.secrets import Secrets
from connect.runtime.settings.worker_config import WorkerConfig

KAFKA_VERSION: Final = "4.1.0"
"""The Kafka Connect release whose REST API this is. Clients compare it as x.y, so it is not our own version."""


@dataclass(frozen=True)
class RestContext:
    """Holds the cluster's operations and the settings of a server. `worker_id` is this worker's `host:port`."""

    operations: Operations
    catalog: Catalog
    worker: WorkerConfig
    worker_id: str = ""
    check_timeout_s: float = 30.0
    health_timeout_s: float = 10.0
    leader_wait_s: float = 15.0
    version: str = KAFKA_VERSION
    commit: str = f"connect-for-kafka-{__version__}"
    validator: Validator = field(init=False)
    secrets: Secrets = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "validator", Validator(self.catalog, self.worker))
        secrets = Secrets(self.catalog, self.worker.config_providers, self.worker.rest_mask_secrets)
        object.__setattr__(self, "secrets", secrets)

    @property
    def request_timeout_s(self) -> float:
        """Return the longest time a request may take."""
        return self.worker.rest_request_timeout_ms / 1000


CONTEXT: Final = web.AppKey("context", RestContext)
ENDS_AT: Final = web.RequestKey("ends_at_s", float)


def context_of(request: web.Request) -> RestContext:
    """Return the server's context."""
    return request.app[CONTEXT]


def remaining_s(request: web.Request) -> float:
    """Return the seconds left of this request's time."""
    return max(0.0, request[ENDS_AT] - time.monotonic())
