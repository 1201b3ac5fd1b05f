"""A name of a time zone is looked up in the files of zones, however a client has chosen it."""

from __future__ import annotations

from zoneinfo import available_timezones

import pytest

from connect.lib.setting_text import named_zone


@pytest.mark.parametrize("name", ["'year'=YYYY/" * 1000, "a/" * 40, "a." * 40, "../" * 5000, "x", "", "\0", "é" * 3000])
def test_a_name_of_no_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        named_zone(name)


def test_every_zone_is_found() -> None:
    names = available_timezones()
    assert len(names) > 400
    assert {named_zone(name).key for name in names} == names
