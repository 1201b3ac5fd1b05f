"""A worker installs only what it runs: SQLite needs no other driver, and MariaDB none of PostgreSQL."""

import subprocess
import sys

import pytest

OF_POSTGRESQL = {"adbc_driver_manager", "adbc_driver_postgresql", "psycopg"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("missing", "modules"),
    [
        (OF_POSTGRESQL | {"pymysql"}, "connectors.jdbc.source"),
        (OF_POSTGRESQL, "connectors.jdbc.log.task, connectors.jdbc.log.mysql_reader"),
    ],
)
def test_it_can_be_imported_without_the_drivers_of_other_databases(missing, modules):
    program = f"import sys; sys.modules.update(dict.fromkeys({sorted(missing)!r})); import {modules}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
