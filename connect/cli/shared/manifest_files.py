"""Reads the files of connectors that a person names, and tells what there is to say of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from connect.cli.shared.terminal import echo

if TYPE_CHECKING:
    from connect.api.errors import ConfigProblem
    from connect.client.manifests import Manifest


def named_manifests(paths: Iterable[Path]) -> list[Manifest]:
    """Return the connectors that files and folders describe, and write what is not read to the standard error.
    ConfigError: a file cannot be used.
    """
    from connect.client.manifests import read_manifests

    notes: list[ConfigProblem] = []
    found = read_manifests(paths, notes)
    for note in notes:
        echo(f"{note.key}: {note.message}", err=True)
    return found
