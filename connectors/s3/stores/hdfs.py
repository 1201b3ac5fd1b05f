"""Keeps objects in a folder of HDFS: each object is a file, and its metadata is in an extended attribute.

A file is written under another name and renamed once it is whole. The name node refuses to rename it if a file of that
name exists. So if two writers create an object, one of them wins, and no reader sees half an object, whoever dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import json
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, Final

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.s3.stores.folder_store import UNFINISHED, FolderStore, Found
from connectors.s3.stores.webhdfs import WebHdfs

_ATTRIBUTE: Final = "user.kconnect"


class HdfsFolder(FolderStore[str]):
    """Has the calls of a bucket's client, for a folder of HDFS. Calls run in threads, several at a time."""

    def __init__(self, root: str, server: WebHdfs) -> None:
        self._root = root.rstrip("/")
        self._server = server

    async def get_async(self, key: str, *, options: Mapping[str, bool] | None = None) -> Found:  # noqa: ARG002 - no body yet
        """Return an object. FileNotFoundError: it does not exist."""
        path = self._path(key)
        text = await asyncio.to_thread(self._server.attribute, path, _ATTRIBUTE)
        attributes = {} if text is None else json.loads(text)
        return Found(attributes, lambda: asyncio.to_thread(self._server.content, path))

    async def list(
        self, prefix: str | None = None, *, offset: str | None = None, chunk_size: int
    ) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """Yield pages of the files below a folder. Their keys come after `offset`, in the order of their text."""
        found = self._below(prefix or "", offset or "")
        while page := await asyncio.to_thread(lambda: [*islice(found, chunk_size)]):
            yield page

    async def list_with_delimiter_async(self, prefix: str) -> None:  # noqa: ARG002 - the folder itself is asked for
        """Raise ConfigError if there is no such folder."""
        try:
            await asyncio.to_thread(self._server.require, self._root or "/")
        except FileNotFoundError:
            raise ConfigError(
                f"Folder {self._root} of HDFS at {self._server.url} does not exist.", key="s3.bucket.name",
                fix="Create it.",
            ) from None  # fmt: skip

    async def delete_async(self, key: str) -> None:
        """Delete a file if it exists."""
        await asyncio.to_thread(self._server.delete, self._path(key))

    def remove_empty_folders(self, folder: str) -> None:
        """Remove a folder, the folders in it, and those above it up to the store's folder, if they have no files."""
        self._remove_inner(folder)
        for outer in PurePosixPath(folder).parents[:-1]:
            self._remove_if_empty(str(outer))

    def _remove_inner(self, folder: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            for entry in [*self._server.entries(self._path(folder), "")]:
                if entry.is_folder:
                    self._remove_inner(f"{folder}/{entry.name}")
        self._remove_if_empty(folder)

    def _remove_if_empty(self, folder: str) -> None:
        with contextlib.suppress(FileExistsError):
            self._server.delete(self._path(folder))

    def _put(self, path: str, data: Any, attributes: Mapping[str, str], *, is_conditional: bool) -> None:
        # Each attempt has another name, so that a request that arrives late cannot change the file of a later attempt.
        unfinished = f"{path.rpartition('/')[0]}/{UNFINISHED}{uuid.uuid4().hex}"
        told = json.dumps(attributes).encode()
        try:
            self._server.create(unfinished, data)
            self._server.set_attribute(unfinished, _ATTRIBUTE, told)
            self._rename(unfinished, path, told, is_conditional=is_conditional)
        except BaseException:
            # If the name node cannot be reached, the file stays. Listings leave it out.
            with contextlib.suppress(OSError, ConnectError):
                self._server.delete(unfinished)
            raise

    def _rename(self, unfinished: str, path: str, told: bytes, *, is_conditional: bool) -> None:
        from obstore.exceptions import AlreadyExistsError

        try:
            self._server.rename(unfinished, path, replaces=not is_conditional)
        except FileExistsError:
            raise AlreadyExistsError(path) from None
        except FileNotFoundError:
            # The file may have been renamed by the first request, whose answer was lost. The metadata of the file that
            # has the new name tells.
            if self._told(path) != told:
                raise RetriableError(f"{unfinished} of HDFS was removed before it became {path}.") from None

    def _told(self, path: str) -> bytes | None:
        try:
            return self._server.attribute(path, _ATTRIBUTE)
        except FileNotFoundError:
            return None

    def _below(self, folder: str, offset: str) -> Iterator[Mapping[str, Any]]:
        start = f"{folder}/" if folder else ""
        name = offset.removeprefix(start)
        # If `offset` is a file in this folder, the listing begins behind it. That leaves out subfolders whose names are
        # a beginning of its name. Their keys do not begin as the keys do that a caller looks for behind it.
        after = name if offset.startswith(start) and "/" not in name else ""
        waiting: list[str] = []
        with contextlib.suppress(FileNotFoundError):
            for entry in self._server.entries(self._path(folder) if folder else self._root or "/", after):
                # Keys are in the order of their text: those in folder "a" begin with "a/", and come after "a-b". The
                # server lists the folder "a" before the file "a-b".
                while waiting and waiting[0] < entry.name:
                    yield from self._below(start + heapq.heappop(waiting)[:-1], offset)
                if entry.is_folder:
                    heapq.heappush(waiting, f"{entry.name}/")
                elif start + entry.name > offset and not entry.name.startswith(UNFINISHED):
                    modified = datetime.fromtimestamp(entry.modified_ms / 1000, UTC)
                    yield {"path": start + entry.name, "size": entry.size_bytes, "last_modified": modified}
            for subfolder in sorted(waiting):
                yield from self._below(start + subfolder[:-1], offset)

    def _path(self, key: str) -> str:
        parts = key.split("/")
        if any(part in {"", ".", ".."} or ":" in part for part in parts) or "\0" in key:
            raise ConnectError(
                f"{key!r} is no path below {self._root or '/'} of HDFS, whose names have no colon.", key="topics.dir"
            )
        return f"{self._root}/{key}"
