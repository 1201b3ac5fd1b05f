"""`--set key=value` means the same for each command that has it."""

from __future__ import annotations

import pytest

from connect.api.errors import ConfigError
from connect.cli.shared.overrides import parse_overrides


def test_a_value_may_hold_an_equals_sign_and_the_last_of_a_key_counts():
    assert parse_overrides(["b=3=x", " c = 4", "c=5", "d="]) == {"b": "3=x", "c": "5", "d": ""}


@pytest.mark.parametrize("option", ["nothing", "=value", " = value"])
def test_an_override_without_key_or_value_is_refused(option: str):
    with pytest.raises(ConfigError, match=f"--set {option} .*key=value"):
        parse_overrides([option])
