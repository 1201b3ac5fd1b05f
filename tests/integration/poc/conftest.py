"""Provides the seeded plug-ins, for this process and all processes that it starts."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from chromium import axe, browser  # noqa: F401 - fixtures

FOLDERS = [str(Path(__file__).parent / "plugins"), str(Path(__file__).parents[2] / "kit")]


@pytest.fixture(scope="module")
def seeded_plugins():
    """Put the plug-ins' folders where Python looks for packages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([*FOLDERS, os.environ.get("PYTHONPATH", "")]))
        for folder in FOLDERS:
            patch.syspath_prepend(folder)
        yield


@pytest.fixture(scope="module")
def rows_database(seeded_plugins, tmp_path_factory):
    """Return the kit's table with 3,000 rows, ten of each tie; their texts are SENTINEL-<id>."""
    from kit_table import TableDriver

    driver = TableDriver(tmp_path_factory.mktemp("rows"))
    driver.reset()
    rows = [
        {"id": i, "tie": i // 10, "text": f"SENTINEL-{i}", "whole": 70_000_000 + i, "number": i / 3}
        for i in range(1, 3001)
    ]
    driver.insert(rows)
    with sqlite3.connect(driver.path) as connection:
        assert connection.execute("SELECT count(*) FROM rows").fetchone() == (3000,)
    return driver.path
