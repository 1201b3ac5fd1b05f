from __future__ import annotations

import pytest
from sqlalchemy import types as t
from sqlalchemy.dialects.postgresql import BIT, DOMAIN, TIMESTAMP

from connectors.jdbc.dialects.postgres.domains import base_type


@pytest.mark.parametrize(
    ("base", "modifier", "shown"),
    [
        (t.NUMERIC(), 327686, "NUMERIC(precision=5, scale=2)"),
        (t.NUMERIC(), (5 << 16 | 0x7FE) + 4, "NUMERIC(precision=5, scale=-2)"),
        (t.NUMERIC(), -1, "NUMERIC()"),
        (BIT(), 9, "BIT(length=9)"),
        (BIT(), -1, "BIT(length=1)"),
        (BIT(varying=True), 5, "BIT(length=5, varying=True)"),
        (TIMESTAMP(), 3, "TIMESTAMP(precision=3)"),
        (t.VARCHAR(), 9, "VARCHAR()"),
    ],
)
def test_a_domain_is_the_type_below_it(base, modifier, shown):
    nested = DOMAIN("outer", DOMAIN("inner", base))
    assert repr(base_type(nested, modifier)) == shown
