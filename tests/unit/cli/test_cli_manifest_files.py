"""A person who applies files is told which folders were not read."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from connect.cli import main
from connect.cli.shared.manifest_files import named_manifests


def test_what_is_left_out_of_files_is_written_to_the_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, other = tmp_path / "connectors", tmp_path / "team"
    folder.mkdir()
    other.mkdir()
    (folder / "linked").symlink_to(other)
    (folder / "x.json").write_text('{"name": "x", "connector.class": "X", "topics": "b"}')
    assert [one.config["topics"] for one in named_manifests([folder])] == ["b"]
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"{folder}/linked: It is a link to the folder {other}, which is not followed. Name that folder by -f.",
    ]


def test_prune_deletes_nothing_while_a_file_is_cut(tmp_path):
    """The rest of a file may name another connector. Nothing is asked of the cluster, which is not there."""
    (tmp_path / "a.properties").write_text("file=/tmp/f\n")
    command = ["connectors", "apply", "-f", str(tmp_path), "--prune", "--url", "http://127.0.0.1:9"]
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 1
    assert "a.properties" in refused.output
    assert "no connector.class" in refused.output
