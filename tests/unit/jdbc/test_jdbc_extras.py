"""A worker installs only what it runs: SQLite needs no other driver, and MariaDB none of PostgreSQL."""

import subprocess
import sys

import pytest

DRIVERS = {
    "connectors.jdbc.source": {"adbc_driver_manager", "adbc_driver_postgresql", "psycopg", "pymysql"},
    "connectors.jdbc.log.mysql_reader": {"adbc_driver_manager", "adbc_driver_postgresql", "psycopg"},
    "connectors.jdbc.log.task": {"adbc_driver_manager", "adbc_driver_postgresql", "psycopg"},
}


@pytest.mark.parametrize("module", DRIVERS)
def test_it_can_be_imported_without_the_drivers_of_other_databases(module):
    program = f"import sys; sys.modules.update(dict.fromkeys({sorted(DRIVERS[module])!r})); import {module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
