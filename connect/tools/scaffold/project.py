"""Makes the files of a new plug-in project from a name and a kind. Its tests pass as they are."""

from __future__ import annotations

import importlib.util
import keyword
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from string import Template
from typing import Final

from connect.api.errors import ConnectError

TEMPLATE: Final = ".tmpl"
"""A template's name ends with this, so that no tool takes a template for a module."""
PACKAGE: Final = "package"
"""This folder of the templates becomes the project's package."""
_TAKEN: Final = {"tests", "connect", "connectors"}


class ConnectorKind(StrEnum):
    """Tells if a connector writes to Kafka (a source) or reads from it (a sink)."""

    SOURCE = "source"
    SINK = "sink"


def check_name(name: str) -> None:
    """Raise ConnectError if the name cannot be used for a new Python package."""
    why = None
    if not name.isidentifier() or not name.isascii() or name != name.lower() or keyword.iskeyword(name):
        why = "is no name of a Python package: it holds small letters, digits and _, and begins with a letter"
    elif not name[0].isalpha():
        why = "begins with no letter"
    elif name in _TAKEN or name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        why = "is the name of a package that is already there, which the new one would hide"
    if why is not None:
        raise ConnectError(f"The name {name!r} {why}.", fix="Choose another, such as my_orders.")


def project_files(name: str, kind: ConnectorKind) -> Mapping[PurePosixPath, str]:
    """Return the text of each file by its path in the project.

    The connector of the project reads growing files of JSON lines, or appends to them.
    """
    words = {
        "name": name,
        "title": "".join(part.capitalize() for part in name.split("_")),
        "project": name.replace("_", "-").strip("-"),
        "connect_version": version("connect-for-kafka"),
    }
    return {
        _target(path, name): Template(text.read_text(encoding="utf-8")).substitute(words)
        for folder in ("both", kind.value)
        for path, text in _templates(files("connect.tools.scaffold") / "templates" / folder)
    }


def make_project(name: str, kind: ConnectorKind, parent: Path) -> Path:
    """Write the project into a new folder of that name, and return the folder.

    ConnectError: the name cannot be used, the folder exists already, or it cannot be written. Nothing is overwritten.
    """
    check_name(name)
    folder = parent / name
    try:
        folder.mkdir()
        for path, text in project_files(name, kind).items():
            file = folder / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise ConnectError(
            f"{folder} is already there; nothing was written.", fix="Choose another name, or move it away."
        ) from error
    except OSError as error:
        raise ConnectError(f"{folder} cannot be written: {error.strerror}.", fix="Choose another folder.") from error
    return folder


def _templates(folder: Traversable, below: str = "") -> Iterator[tuple[PurePosixPath, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _templates(entry, f"{below}{entry.name}/")
        elif entry.name.endswith(TEMPLATE):
            yield PurePosixPath(below + entry.name.removesuffix(TEMPLATE)), entry


def _target(path: PurePosixPath, name: str) -> PurePosixPath:
    return PurePosixPath(*(name if part == PACKAGE else part for part in path.parts))
