"""Checks that a mistake in a file or an argument is answered with one sentence, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from connect.cli import main
from connect.client.rest import RefusedError

NOBODY = "http://127.0.0.1:1"


def refused(*argv: str, **environ: str) -> str:
    done = CliRunner().invoke(main, [*argv], env=environ)
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 1, done.output
    return done.output


@pytest.mark.parametrize("text", [b"x", b"", b"\xff\xfe", b"[1]", b"{}", b'{"offsets": 5}', b"[" * 100_000])
def test_a_file_without_offsets_is_named(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "offsets.json"
    file.write_bytes(text)
    told = refused("connectors", "offsets", "orders", "--set", str(file), "--url", NOBODY)
    assert told.startswith(f"Error: {file}")


def test_a_context_has_the_address_of_a_worker_and_is_known_when_it_is_used_or_removed(tmp_path: Path) -> None:
    file = str(tmp_path / "contexts.yaml")
    assert "'worker-1' is no address of a worker" in refused(
        "context", "add", "here", "worker-1", CONNECT_CONTEXTS=file
    )
    for verb in ("use", "remove"):
        told = refused("context", verb, "gone", CONNECT_CONTEXTS=file)
        assert "There is no context 'gone'; known: none. Add it: connect context add NAME URL." in told


def test_an_archive_that_cannot_be_written_is_named_before_it_is_made(tmp_path: Path) -> None:
    told = refused("backfill", "package", str(tmp_path / "none" / "env.tar.gz"))
    assert "cannot be written: there is no folder" in told


def test_an_unknown_class_is_told_without_all_that_are_known() -> None:
    said = "Failed to find any class that implements Connector and which name matches Nix"
    error = RefusedError(500, f"{said}, available connectors are: PluginDesc{{klass=class A}}, PluginDesc{{…}}")
    assert str(error) == f"{said}. `connect plugins` lists those that there are."
