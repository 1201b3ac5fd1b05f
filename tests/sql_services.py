"""Provides SQL servers for tests: a test whose server is not installed is skipped, and names the server."""

from __future__ import annotations

from typing import TypeVar

import pytest

from connect.tools.services import ArtifactError
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService

ServiceT = TypeVar("ServiceT", PostgresService, MariaDbService)


def installed(service: ServiceT) -> ServiceT:
    """Return the service, which is not started yet. If the server's programs are missing, the test is skipped."""
    try:
        service.prepare()
    except ArtifactError as missing:
        pytest.skip(str(missing))
    return service
