"""Provides images, built once for all tests of a file, and workers in containers of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from image_build import SLIM, Builder, Image, why_not
from image_worker import ImageWorker, shared_folder

from connect.tools.services import KafkaEndpoint


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    """Yield the builder of images. If no image can be built, the tests are skipped and say why."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("images")
    builder = Builder(folder)
    yield builder
    builder.remove()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def slim(builder: Builder) -> Image:
    """Return the slim image, built by the command that docker/Dockerfile names."""
    return builder.image("connect-slim", EXTRAS=SLIM)


@pytest.fixture(scope="session")
def full(builder: Builder) -> Image:
    """Return the full image, as docker/Dockerfile builds it."""
    return builder.image("connect-for-kafka")


@pytest.fixture
def start(kafka: KafkaEndpoint, tmp_path: Path, unique: str) -> Iterator[Callable[..., ImageWorker]]:
    """Yield a function that starts a worker of one cluster in a container of an image; all of them share the folder
    /data.
    """
    shared = shared_folder(tmp_path / "data")
    count = iter(range(10))
    with ExitStack() as stack:

        def start(image: Image, **settings: str) -> ImageWorker:
            folder = tmp_path / f"worker-{next(count)}"
            worker = ImageWorker(image, folder, shared, kafka.bootstrap_servers, unique, **settings)
            stack.callback(worker.stop)
            worker.start()
            return worker

        yield start
