"""Firebird's driver takes the name of a database once, whoever opens it, and when."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from connectors.jdbc.dialects.firebird.engine_dialect import _named


class Databases:
    """Stands for the configuration of Firebird's driver; who asks for a database waits a while for the other one."""

    def __init__(self) -> None:
        self._both, self._known = threading.Barrier(2), dict[str, Any]()

    def get_database(self, name: str) -> Any:
        found = self._known.get(name)
        try:
            self._both.wait(0.2)
        except threading.BrokenBarrierError:
            return found
        return found

    def register_database(self, name: str) -> Any:
        if name in self._known:
            raise ValueError(f"Database '{name}' already registered.")
        self._known[name] = type("Settings", (), {"dsn": type("", (), {})(), "config": type("", (), {})()})()
        return self._known[name]


def test_two_tasks_that_open_a_database_of_firebird_at_once_both_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firebird.driver.driver_config", Databases())
    _named.cache_clear()
    with ThreadPoolExecutor(2) as pool:
        made = [pool.submit(_named, "inet://h:3050/x", "Required") for _ in range(2)]
    assert {one.result() for one in made} == {"inet://h:3050/x WireCrypt=Required"}
    _named.cache_clear()
