"""Lists and opens data files in a folder of this machine or of a bucket. It decides nothing about rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.file.data_config import S3, DataFilesSourceConfig

_HIDDEN: Final = (".", "_")


@dataclass(frozen=True, slots=True)
class DataFile:
    """Holds the path and size in bytes of a file when it was listed."""

    path: str
    size_bytes: int


class DataStore:
    """Lists and opens the files of one folder. One thread owns it."""

    def __init__(self, config: DataFilesSourceConfig) -> None:
        """Keep the settings, and connect to nothing yet."""
        self._folder = config.folder.removeprefix(S3).rstrip("/") if config.is_s3 else config.folder
        self._pattern = config.files
        self._files = _bucket(config) if config.is_s3 else pafs.LocalFileSystem()
        self._shown = config.folder
        self._allowed = None if config.is_s3 else config.allowed

    def list(self) -> Sequence[DataFile]:
        """Return the files of the folder now, by path.

        Raise ConfigError if there is no such folder, or if a link in it leads to a folder that the worker does not
        allow. Raise RetriableError if the folder cannot be reached now.
        """
        with self._translated(self._shown):
            found = list(self._found_in(self._folder))
        files = [DataFile(info.path, info.size) for info in found if info.type is pafs.FileType.File]
        return sorted((file for file in files if self._is_wanted(file.path)), key=lambda file: file.path)

    def _found_in(self, folder: str) -> Iterator[pafs.FileInfo]:
        """Yield what is in a folder and below it. A folder of this machine is opened after a check of its links."""
        if self._allowed is None:
            yield from self._files.get_file_info(pafs.FileSelector(folder, recursive=True))
            return
        self._real(folder)
        for info in self._files.get_file_info(pafs.FileSelector(folder)):
            if info.type is not pafs.FileType.Directory:
                yield info
            elif not info.base_name.startswith(_HIDDEN):
                yield from self._found_in(info.path)

    def size(self, path: str) -> int:
        """Return how large a file is now, in bytes. Raise ConnectError if it is gone."""
        with self._translated(path):
            info = self._files.get_file_info(self._real(path))
        if info.type is not pafs.FileType.File:
            raise ConnectError(f"File {path} is gone.", key="folder", fix="Put it back, or begin anew without it.")
        return int(info.size)

    @contextmanager
    def open(self, path: str) -> Iterator[Any]:
        """Open a file for reading at any place.

        Raise RetriableError if it cannot be read now, also during reads in the body. Raise ConfigError if a link leads
        to a file that the worker does not allow, or if the plan of a backfill names one.
        """
        with self._translated(path), self._files.open_input_file(self._real(path)) as file:
            yield file

    def _real(self, path: str) -> str:
        return path if self._allowed is None else str(self._allowed.require("folder", path))

    def _is_wanted(self, path: str) -> bool:
        below = path[len(self._folder) :].lstrip("/")
        return not any(part.startswith(_HIDDEN) for part in below.split("/")) and fnmatchcase(below, self._pattern)

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise ConfigError(f"There is no {what}.", key="folder", fix="Name a folder that is there.") from error
        except PermissionError as error:
            raise ConfigError(
                f"{what} may not be read: {error}.", key="folder", fix="Grant the right to list and to read."
            ) from error
        except pa.ArrowInvalid:
            raise  # the error is about the content of the file
        except OSError as error:
            raise RetriableError(f"{what} cannot be read now: {error}.") from error


def _bucket(config: DataFilesSourceConfig) -> Any:
    scheme, place = config.endpoint
    return pafs.S3FileSystem(
        access_key=config.access_key_id or None,
        secret_key=config.secret_access_key.get_secret_value() or None,
        region=config.region,
        endpoint_override=place or None,
        scheme=scheme,
    )
