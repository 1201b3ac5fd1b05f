"""SQL servers of the tests: a test whose server is not installed is skipped, and says which one."""

from __future__ import annotations

from typing import TypeVar

import pytest

from connect.tools.services import ArtifactError
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService

ServiceT = TypeVar("ServiceT", PostgresService, MariaDbService)


def installed(service: ServiceT) -> ServiceT:
    """The service, not started yet. The test is skipped where the server's programs are missing."""
    try:
        service.prepare()
    except ArtifactError as missing:
        pytest.skip(str(missing))
    return service
