"""Fixtures for all tests: the real services, started once for the whole run, and names that do not collide."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from connect.services import (
    KafkaEndpoint,
    KafkaService,
    RegistryEndpoint,
    S3Endpoint,
    SchemaRegistryService,
    SeaweedS3Service,
)

_INTEGRATION = Path(__file__).parent / "integration"
S3_BUCKET = "test-bucket"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _INTEGRATION in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def kafka_service() -> Iterator[KafkaService]:
    """The shared broker itself. A test that stops or kills a broker starts one of its own."""
    with KafkaService() as service:
        yield service


@pytest.fixture(scope="session")
def kafka(kafka_service: KafkaService) -> KafkaEndpoint:
    """Where the shared broker is."""
    return kafka_service.endpoint


@pytest.fixture(scope="session")
def s3_service() -> Iterator[SeaweedS3Service]:
    """The shared S3 store itself, with the bucket `s3_bucket`."""
    with SeaweedS3Service() as service:
        service.create_bucket(S3_BUCKET)
        yield service


@pytest.fixture(scope="session")
def s3(s3_service: SeaweedS3Service) -> S3Endpoint:
    """Where the shared S3 store is."""
    return s3_service.endpoint


@pytest.fixture(scope="session")
def s3_bucket(s3_service: SeaweedS3Service) -> str:
    """A bucket that exists; tests keep apart by the prefix `unique`."""
    return S3_BUCKET


@pytest.fixture(scope="session")
def registry_service() -> Iterator[SchemaRegistryService]:
    """The shared schema registry itself. A test that stops or kills a registry starts one of its own."""
    with SchemaRegistryService() as service:
        yield service


@pytest.fixture(scope="session")
def registry(registry_service: SchemaRegistryService) -> RegistryEndpoint:
    """Where the shared schema registry is; tests keep apart by subjects with the prefix `unique`."""
    return registry_service.endpoint


@pytest.fixture
def unique() -> str:
    """A short prefix that no other test has."""
    return f"t{secrets.token_hex(4)}"


@pytest.fixture
def topic_name(request: pytest.FixtureRequest, unique: str) -> str:
    """A topic name of this test alone, which tells the test in the broker's log."""
    return f"{unique}-{re.sub(r'[^a-zA-Z0-9_]', '-', request.node.name)[:80]}"
