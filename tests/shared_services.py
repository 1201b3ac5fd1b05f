"""Shares one broker, S3 store and schema registry among all processes of a parallel run; the directing process owns
them.

It also sets the variables with which Spark starts quickly. `conftest.py` imports the hooks. In a run of one process
nothing is shared: the fixtures start their own services.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
import spark_classes

from connect.tools.services import (
    KafkaEndpoint,
    KafkaService,
    RegistryEndpoint,
    S3Endpoint,
    SchemaRegistryService,
    SeaweedS3Service,
)

S3_BUCKET = "test-bucket"
_WITHOUT_SERVICES = frozenset({"unit", "shape"})
_KEY = "shared_services"
_STACK = pytest.StashKey[ExitStack]()
_STARTED = pytest.StashKey[Mapping[str, Any]]()


@dataclass(frozen=True)
class Shared:
    """Holds the addresses of the shared services."""

    kafka: KafkaEndpoint
    s3: S3Endpoint
    registry: RegistryEndpoint


def given(config: pytest.Config) -> Shared | None:
    """Return the services that the directing process has started; None in a run of one process."""
    told = getattr(config, "workerinput", {}).get(_KEY)
    if not told:
        return None
    return Shared(KafkaEndpoint(**told["kafka"]), S3Endpoint(**told["s3"]), RegistryEndpoint(**told["registry"]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Let Spark start quickly in all processes of the run, which inherit the variables.

    A missing class archive is recorded here, as that takes longer than a test may take on a loaded machine.
    """
    if not _is_without_services(config):
        os.environ.update(spark_classes.environment())


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a new process of the run where the services are; for the first one they are started."""
    config: pytest.Config = node.config
    if _is_without_services(config):
        return
    if _STARTED not in config.stash:
        config.stash[_STARTED] = _start(config.stash.setdefault(_STACK, ExitStack()))
    node.workerinput[_KEY] = config.stash[_STARTED]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the services that were started."""
    config.stash.setdefault(_STACK, ExitStack()).close()


def _is_without_services(config: pytest.Config) -> bool:
    return all(_WITHOUT_SERVICES & set(Path(argument.partition("::")[0]).parts) for argument in config.args)


def _start(stack: ExitStack) -> Mapping[str, Any]:
    # All tests together leave thousands of partitions behind. If they filled the heap, Java would collect garbage all
    # the time, the broker would stand still meanwhile and lose its session, and all partitions would have no leader.
    # Nobody restarts this node, so nothing waits for its session to end.
    kafka = KafkaService(heap_mib=1536, properties={"broker.session.timeout.ms": "120000"})
    store, registry = SeaweedS3Service(), SchemaRegistryService()
    with ThreadPoolExecutor(thread_name_prefix="services") as pool:
        started = [pool.submit(stack.enter_context, service) for service in (kafka, store, registry)]
    for service in started:
        service.result()
    store.create_bucket(S3_BUCKET)
    endpoints = {"kafka": kafka.endpoint, "s3": store.endpoint, "registry": registry.endpoint}
    return {name: asdict(endpoint) for name, endpoint in endpoints.items()}
