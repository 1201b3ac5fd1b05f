"""A store of its own for each test, a table of its own, and a machine on which no access keys lie."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from iceberg_lake import Commits, Lake
from pyiceberg.catalog.sql import SqlCatalog
from s3_http_store import Store, served


@pytest.fixture
def store() -> Iterator[Store]:
    with served(Store()) as server:
        yield server
        server.ended.set()
        server.released.set()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder for LocalStorage."""
    folder = tmp_path / "objects"
    folder.mkdir()
    try:
        os.setxattr(folder, "user.kconnect.probe", b"1")
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        pytest.skip("THE FILE SYSTEM OF THE TEMPORARY FOLDER KEEPS NO EXTENDED ATTRIBUTES: LocalStorage is not tested")
    return folder


@pytest.fixture
def keyless_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Profiles would be read from `tmp_path`; environment and instance give nothing."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Commits:
    found = Commits()
    monkeypatch.setattr(SqlCatalog, "commit_table", found.around(SqlCatalog.commit_table))
    return found
