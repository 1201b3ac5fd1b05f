"""How pyiceberg reaches the files of tables: by Arrow, where the configuration reaches, and nowhere else.

The name of this class is a property of the catalogue (`py-io-impl`), as pyiceberg makes it from properties; what it may
reach is said by two further ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyiceberg.io import InputFile, OutputFile
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError

PY_IO_IMPL: Final = "py-io-impl"
OF_FOLDER: Final = "connect.reach.folder"
"""The property that says that files are those of this machine; without it they are in S3."""
ALLOWED: Final = "connect.reach.paths"
"""The files and folders of this machine that may be named, one a line."""
_S3_SCHEMES: Final = frozenset({"s3", "s3a", "s3n"})


class ReachableFileIO(PyArrowFileIO):
    """Checks each place that it opens, as metadata and manifests that name files may be anybody's."""

    def new_input(self, location: str) -> PyArrowFile:
        """Return a file to read. ConfigError: it lies where the configuration does not reach."""
        self._require_reachable(location)
        return super().new_input(location)

    def new_output(self, location: str) -> PyArrowFile:
        """Return a file to write. ConfigError: it lies where the configuration does not reach."""
        self._require_reachable(location)
        return super().new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file. ConfigError: it lies where the configuration does not reach."""
        self._require_reachable(location if isinstance(location, str) else location.location)
        super().delete(location)

    def _require_reachable(self, location: str) -> None:
        scheme, _, path = self.parse_location(location, self.properties)
        if not is_reachable(scheme, path, self.properties):
            raise ConfigError(
                f"The catalogue or a table's metadata names the file {location}, where this configuration does not "
                "reach.",
                key="storage.class",
                fix="Tables in a folder need storage.class=connect.s3.LocalStorage, and that allowed.paths of the "
                "worker's file lists it.",
            )


def is_reachable(scheme: str, path: str, properties: dict[str, str]) -> bool:
    """Return True if a file may be named under these properties of a catalogue."""
    if OF_FOLDER in properties:
        return scheme == "file" and AllowedPaths(properties.get(ALLOWED, "").splitlines()).allow(path)
    return scheme in _S3_SCHEMES


def reach_properties(*, of_folder: bool, allowed: Iterable[str]) -> dict[str, str]:
    """Return the properties that choose this class, and say what it may reach."""
    chosen = {PY_IO_IMPL: f"{__name__}.{ReachableFileIO.__name__}"}
    return chosen | ({OF_FOLDER: "true", ALLOWED: "\n".join(allowed)} if of_folder else {})
