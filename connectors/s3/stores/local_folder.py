"""Keeps objects in a folder of this machine: each is a file with metadata in extended attributes. For Linux alone.

A file is written under another name, synced to the disk, and then linked to its name. The kernel refuses the link if a
file of that name exists. So if two writers create an object, one of them wins, and no reader sees half an object,
whoever dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError, ConnectError
from connectors.s3.stores.folder_store import UNFINISHED, FolderStore, Found

_PREFIX: Final = "user.kconnect."


class LocalFolder(FolderStore[Path]):
    """Has the calls of a bucket's client, for a folder of this machine. Calls run in threads, several at a time."""

    def __init__(self, root: Path, allowed: AllowedPaths) -> None:
        """Take the folder, and the paths that the worker allows the sink to name."""
        self._root = Path(os.path.realpath(root))
        self._allowed = allowed

    async def get_async(self, key: str, *, options: Mapping[str, bool] | None = None) -> Found:  # noqa: ARG002 - no body yet
        """Return an object. FileNotFoundError: it does not exist."""
        path = self._path(key)
        return Found(await asyncio.to_thread(_attributes, path), lambda: asyncio.to_thread(path.read_bytes))

    async def list(
        self, prefix: str | None = None, *, offset: str | None = None, chunk_size: int
    ) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """Yield pages of the files below a folder. Their keys come after `offset`, in the order of their text."""
        keys = await asyncio.to_thread(self._keys, prefix or "", offset or "")
        for start in range(0, len(keys), chunk_size):
            yield [found for key in keys[start : start + chunk_size] for found in self._found(key)]

    async def list_with_delimiter_async(self, prefix: str) -> None:  # noqa: ARG002 - the folder itself is asked for
        """Raise ConfigError if there is no such folder."""
        if not self._root.is_dir():
            raise ConfigError(f"Folder {self._root} does not exist.", key="s3.bucket.name", fix="Create it.")

    async def delete_async(self, key: str) -> None:
        """Delete a file if it exists."""
        self._path(key).unlink(missing_ok=True)

    def remove_empty_folders(self, folder: str) -> None:
        """Remove a folder, the folders in it, and those above it up to the store's folder, if they have no files."""
        start = self._path(folder)
        inner = (Path(parent) for parent, _, _ in os.walk(start, topdown=False))
        outer = (parent for parent in start.parents if self._root in parent.parents)
        for path in (*inner, *outer):
            with contextlib.suppress(OSError):
                path.rmdir()

    def _put(self, path: Path, data: Any, attributes: Mapping[str, str], *, is_conditional: bool) -> None:
        from obstore.exceptions import AlreadyExistsError

        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.parent / f"{UNFINISHED}{uuid.uuid4().hex}"
        try:
            with unfinished.open("xb") as file:
                file.write(data)
                for name, value in attributes.items():
                    _set_attribute(file.fileno(), name, value)
                file.flush()
                os.fsync(file.fileno())
            if is_conditional:
                os.link(unfinished, path)
            else:
                unfinished.replace(path)
        except FileExistsError as error:
            raise AlreadyExistsError(str(path)) from error
        except PermissionError as error:
            raise ConfigError(
                f"{path.parent} may not be written by the user of this worker.", key="s3.bucket.name"
            ) from error
        finally:
            with contextlib.suppress(FileNotFoundError):
                unfinished.unlink()
        _sync_folder(path.parent)

    def _keys(self, prefix: str, offset: str) -> Sequence[str]:
        return sorted(key for key in self._below(self._path(prefix) if prefix else self._root) if key > offset)

    def _found(self, key: str) -> Iterator[Mapping[str, Any]]:
        with contextlib.suppress(FileNotFoundError):
            told = self._path(key).stat()
            yield {"path": key, "size": told.st_size, "last_modified": datetime.fromtimestamp(told.st_mtime, UTC)}

    def _below(self, folder: Path) -> Iterator[str]:
        for parent, _, names in os.walk(folder):
            at = Path(parent).relative_to(self._root).as_posix()
            yield from (name if at == "." else f"{at}/{name}" for name in names if not name.startswith(UNFINISHED))

    def _path(self, key: str) -> Path:
        parts = key.split("/")
        if any(part in {"", ".", ".."} for part in parts) or "\0" in key:
            raise ConnectError(f"{key!r} is no path below {self._root}.", key="topics.dir")
        return self._allowed.require("s3.bucket.name", str(self._root.joinpath(*parts)))


def _set_attribute(file: int, name: str, value: str) -> None:
    try:
        os.setxattr(file, f"{_PREFIX}{name}", value.encode())
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        raise ConfigError(
            "The file system keeps no extended attributes, by which a file tells the rows that it holds.",
            key="s3.bucket.name",
            fix="Name a folder of ext4, xfs or btrfs.",
        ) from error


def _attributes(path: Path) -> dict[str, str]:
    names = (name for name in os.listxattr(path) if name.startswith(_PREFIX))
    return {name.removeprefix(_PREFIX): os.getxattr(path, name).decode() for name in names}


def _sync_folder(folder: Path) -> None:
    """Sync a folder to the disk, so that its new links are still there after a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
