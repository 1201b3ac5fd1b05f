"""Provides fixtures for all tests: the real services, started once for the whole run, and names that do not collide."""

import gc
import os
import re
import secrets
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import shared_services
from drawn_cases import DRAWN
from hypothesis import HealthCheck, settings
from scheduling import (  # noqa: F401 - hooks of this run
    longest_first,
    pytest_addoption,
    pytest_configure,
    pytest_xdist_make_scheduler,
)
from shared_services import (  # noqa: F401 - hooks of this run
    S3_BUCKET,
    pytest_configure_node,
    pytest_unconfigure,
    pytest_xdist_setupnodes,
)
from skips import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401 - hooks of this run
from sql_services import installed

from connect.tools.services import (
    BigQueryService,
    KafkaEndpoint,
    KafkaService,
    PythonNotFoundError,
    RegistryEndpoint,
    S3Endpoint,
    SchemaRegistryService,
    SeaweedS3Service,
)
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService
from connect.tools.services.sql import SqlEndpoint

# No drawn case may fail because the machine is slow: others may use it, or the native code may be checked as it runs.
settings.register_profile("drawn", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("drawn"), derandomize=True)
# By default everybody gets the same cases; `make chaos` draws others each time.
settings.load_profile("drawn" if DRAWN else "same")

# A JVM of the tests lives for seconds, so its better compiler and its collector's threads would cost more than they
# save.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData")

collect_ignore = ["conformance"]
"""This is a suite of its own, which `integration/conformance` runs against two workers."""

_TESTS = f"{Path(__file__).parent}{os.sep}"
_INTEGRATION = f"{_TESTS}integration{os.sep}"
_QUICK = (f"{_TESTS}unit{os.sep}", f"{_TESTS}shape{os.sep}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = str(item.path)
        if path.startswith(_INTEGRATION):
            item.add_marker(pytest.mark.integration)
        elif path.startswith(_QUICK) and item.get_closest_marker("thorough") is None:
            item.add_marker(pytest.mark.quick)
    longest_first(items)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from searching modules and tests, while they are loaded and later: they stay to the
    end.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _module_search_path_of_children() -> Iterator[None]:
    """Remove after a module the variables that a Spark session sets in its process's environment for its children."""
    before = os.environ.get("PYTHONSAFEPATH")
    yield
    if before is None:
        os.environ.pop("PYTHONSAFEPATH", None)


@pytest.fixture(autouse=True)
def _no_words_of_earlier_tests(request: pytest.FixtureRequest) -> None:
    """Collect garbage of earlier tests before a test that listens to the log.

    Python logs an error for a pending task when it collects that task, whichever test runs then.
    """
    if "caplog" in request.fixturenames:
        gc.collect()


@pytest.fixture(scope="session")
def kafka_service() -> Iterator[KafkaService]:
    """Return a broker that only this test process uses, for tests of the service itself."""
    with KafkaService() as service:
        yield service


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest) -> KafkaEndpoint:
    """Return the address of the shared broker; all processes of a run use the same one."""
    shared = shared_services.given(request.config)
    return shared.kafka if shared is not None else request.getfixturevalue("kafka_service").endpoint


@pytest.fixture(scope="session")
def s3_service() -> Iterator[SeaweedS3Service]:
    """Return an S3 store that only this test process uses, with the bucket `s3_bucket`, for tests of the service
    itself.
    """
    with SeaweedS3Service() as service:
        service.create_bucket(S3_BUCKET)
        yield service


@pytest.fixture(scope="session")
def s3(request: pytest.FixtureRequest) -> S3Endpoint:
    """Return the address of the shared S3 store; all processes of a run use the same one."""
    shared = shared_services.given(request.config)
    return shared.s3 if shared is not None else request.getfixturevalue("s3_service").endpoint


@pytest.fixture(scope="session")
def s3_bucket(s3: S3Endpoint) -> str:
    """Return a bucket that exists. Tests keep apart in it by the prefix `unique`."""
    return S3_BUCKET


@pytest.fixture(scope="session")
def registry_service() -> Iterator[SchemaRegistryService]:
    """Return a schema registry that only this test process uses, for tests of the service itself."""
    with SchemaRegistryService() as service:
        yield service


@pytest.fixture(scope="session")
def registry(request: pytest.FixtureRequest) -> RegistryEndpoint:
    """Return the address of the shared schema registry; all processes of a run use the same one, with different
    subjects.
    """
    shared = shared_services.given(request.config)
    return shared.registry if shared is not None else request.getfixturevalue("registry_service").endpoint


@pytest.fixture(scope="session")
def bigquery_service() -> Iterator[BigQueryService]:
    """Return an emulated BigQuery of this test process. Without Python 3.13 its tests are skipped, and say so."""
    service = BigQueryService()
    try:
        service.prepare()
    except PythonNotFoundError as error:
        pytest.skip(f"BIGQUERY IS NOT TESTED: the emulator cannot run here. {error}")
    with service:
        yield service


@pytest.fixture(scope="session")
def postgres() -> Iterator[SqlEndpoint]:
    """Return the address of a PostgreSQL of this test process."""
    with installed(PostgresService()) as service:
        yield service.endpoint


@pytest.fixture(scope="session")
def mariadb() -> Iterator[SqlEndpoint]:
    """Return the address of a MariaDB of this test process."""
    with installed(MariaDbService()) as service:
        yield service.endpoint


@pytest.fixture
def own_postgres() -> Iterator[PostgresService]:
    """Return a PostgreSQL for one test, which may stop and kill it."""
    with installed(PostgresService()) as service:
        yield service


@pytest.fixture
def unique() -> str:
    """Return a short prefix that no other test has."""
    return f"t{secrets.token_hex(4)}"


@pytest.fixture
def topic_name(request: pytest.FixtureRequest, unique: str) -> str:
    """Return a topic's name for this test; in the broker's log it shows which test it is."""
    return f"{unique}-{re.sub(r'[^a-zA-Z0-9_]', '-', request.node.name)[:80]}"
