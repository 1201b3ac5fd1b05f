"""Opens the files of tables for pyiceberg by Arrow, but only those that the configuration allows.

pyiceberg makes the class from properties of the catalogue. The property `py-io-impl` names it, and two further
properties tell which files it may open.
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
"""If this property is set, files are those of this machine; else they are in S3."""
ALLOWED: Final = "connect.reach.paths"
"""This property has the files and folders of this machine that may be named, one per line."""
_S3_SCHEMES: Final = frozenset({"s3", "s3a", "s3n"})


class ReachableFileIO(PyArrowFileIO):
    """Checks the location of each file, as anybody may have written the metadata and manifests that name files."""

    def new_input(self, location: str) -> PyArrowFile:
        """Return a file to read. ConfigError: the configuration does not allow its location."""
        self._require_reachable(location)
        return super().new_input(location)

    def new_output(self, location: str) -> PyArrowFile:
        """Return a file to write. ConfigError: the configuration does not allow its location."""
        self._require_reachable(location)
        return super().new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file. ConfigError: the configuration does not allow its location."""
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
    """Return True if a catalogue with these properties may use this file."""
    if OF_FOLDER in properties:
        return scheme == "file" and AllowedPaths(properties.get(ALLOWED, "").splitlines()).allow(path)
    return scheme in _S3_SCHEMES


def reach_properties(*, of_folder: bool, allowed: Iterable[str]) -> dict[str, str]:
    """Return the properties that choose this class and tell which files it may open."""
    chosen = {PY_IO_IMPL: f"{__name__}.{ReachableFileIO.__name__}"}
    return chosen | ({OF_FOLDER: "true", ALLOWED: "\n".join(allowed)} if of_folder else {})
