"""Provides the workers that the attacks of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from attacked import SECRET, Target
from beside import Beside
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint

HOST_MEMORY_LIMIT_MIB = 512


@pytest.fixture(scope="session")
def target(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """Yield a worker whose file gives no permissions. It has a secret in its environment, and a provider that reads
    it.
    """
    folder = tmp_path_factory.mktemp("attacked")
    name = f"attacked-{folder.parent.name}-{folder.name}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTACKED_SECRET", SECRET)
        worker = WorkerProcess(
            folder,
            kafka.bootstrap_servers,
            name,
            **{
                "allowed.paths": "", "auto.restart.enabled": "false", "config.providers": "env,file",
                "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
                "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            },
        )  # fmt: skip
        worker.start()
    try:
        yield Target(worker, folder, kafka.bootstrap_servers, name)
    finally:
        worker.stop()


@pytest.fixture(scope="module")
def more_settings() -> dict[str, str]:
    """Return further settings that a module gives to the worker of `beside`."""
    return {}


@pytest.fixture(scope="module")
def beside(
    kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory, more_settings: dict[str, str]
) -> Iterator[Beside]:
    """Yield a worker that only this module uses, with somebody else's connector; its hosts have a limit of memory."""
    folder = tmp_path_factory.mktemp("beside")
    name = f"beside-{folder.parent.name}-{folder.name}"
    worker = WorkerProcess(
        folder,
        kafka.bootstrap_servers,
        name,
        **{
            "allowed.paths": str(folder), "task.host.memory.limit": str(HOST_MEMORY_LIMIT_MIB), "task.hosts": "1",
            **more_settings,
        },
    )  # fmt: skip
    worker.start()
    try:
        yield Beside(worker, folder, kafka.bootstrap_servers, name)
    finally:
        worker.stop()
