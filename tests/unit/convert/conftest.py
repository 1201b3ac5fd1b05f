"""Runs the converters both ways: through the native code, where it was built, and without it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connect import native


@pytest.fixture(params=["native", "python"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the test once with the native code and once without it."""
    monkeypatch.setenv("CONNECT_NATIVE", "on" if request.param == "native" else "off")
    native.module.cache_clear()
    if request.param == "native" and native.module() is None:
        pytest.skip("NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install")
    yield
    native.module.cache_clear()
