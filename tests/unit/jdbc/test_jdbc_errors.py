"""Which errors of a database may pass by themselves."""

from __future__ import annotations

import pytest
from pymysql.err import InternalError, OperationalError, ProgrammingError

from connectors.jdbc.errors import passes


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (1205, "HY000"),
        (1213, "40001"),
        (1969, "70100"),
        (3024, "HY000"),
        (1927, "70100"),
        (2013, None),
        (1040, "08004"),
    ],
)
def test_numbers_of_mariadb_and_mysql_count_although_their_state_says_nothing(number: int, state: str | None):
    assert passes(OperationalError(number, "…", sqlstate=state))


@pytest.mark.parametrize(
    ("error", "number", "state"),
    [(ProgrammingError, 1146, "42S02"), (OperationalError, 1142, "42000"), (InternalError, 1364, "HY000")],
)
def test_what_a_person_must_mend_does_not_pass(error: type[Exception], number: int, state: str):
    assert not passes(error(number, "…", sqlstate=state))
