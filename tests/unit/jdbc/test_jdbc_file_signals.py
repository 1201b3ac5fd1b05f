"""Signals from a file: its lines are taken once, and no link leads to a file that nobody may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError
from connectors.jdbc.debezium.shared.file_signals import FileSignals

LINE = '{"id": "1", "type": "execute-snapshot", "data": {"data-collections": ["shop.orders"]}}'


def test_lines_are_taken_out_of_the_file_and_rubbish_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "signals"
    signals = FileSignals(AllowedPaths([str(tmp_path)]), str(file), 0.0)
    assert list(signals()) == []
    deep = "[" * 100_000
    file.write_text(f'rubbish\n{deep}\n{{"id": "2", "type": "execute-snapshot", "data": "{deep}"}}\n{LINE}\n[1]\n')
    assert len(signals()) == 1
    assert file.read_text() == ""
    assert list(signals()) == []


def test_a_link_that_is_made_later_leads_to_no_other_file(tmp_path: Path) -> None:
    (folder := tmp_path / "open").mkdir()
    other = tmp_path / "other"
    other.write_text(LINE)
    signals = FileSignals(AllowedPaths([str(folder)]), str(folder / "signals"), 0.0)
    (folder / "signals").symlink_to(other)
    with pytest.raises(ConfigError, match="lets no configuration name"):
        signals()
    assert other.read_text() == LINE
