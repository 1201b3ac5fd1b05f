"""Keep objects in a folder of HDFS: a file per object, its metadata in an extended attribute.

An object comes to be by one renaming of a file that is whole, which the name node refuses where there is a file of that
name: so of two that create it one wins, and nobody sees half an object, whatever dies meanwhile.
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
    """Takes the place of the client of a bucket. Its calls work in threads, side by side."""

    def __init__(self, root: str, server: WebHdfs) -> None:
        self._root = root.rstrip("/")
        self._server = server

    async def get_async(self, key: str, *, options: Mapping[str, bool] | None = None) -> Found:  # noqa: ARG002 - no body yet
        """Return a file. FileNotFoundError: it is not there."""
        path = self._path(key)
        text = await asyncio.to_thread(self._server.attribute, path, _ATTRIBUTE)
        attributes = {} if text is None else json.loads(text)
        return Found(attributes, lambda: asyncio.to_thread(self._server.content, path))

    async def list(
        self, prefix: str | None = None, *, offset: str | None = None, chunk_size: int
    ) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """Yield the files below a folder whose keys come after another one, in the order of their text, by page."""
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
        """Delete a file that may be there."""
        await asyncio.to_thread(self._server.delete, self._path(key))

    def remove_empty_folders(self, folder: str) -> None:
        """Remove a folder with those in it and those above it below the store's, as far as no file is in them."""
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
        # A name of this attempt's own: a request that comes late cannot touch what a later attempt wrote.
        unfinished = f"{path.rpartition('/')[0]}/{UNFINISHED}{uuid.uuid4().hex}"
        told = json.dumps(attributes).encode()
        try:
            self._server.create(unfinished, data)
            self._server.set_attribute(unfinished, _ATTRIBUTE, told)
            self._rename(unfinished, path, told, is_conditional=is_conditional)
        except BaseException:
            # Where the name node is away it stays; no listing has it.
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
            # Asked again after an answer was lost, the name node has nothing left to rename: what is there tells.
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
        # Where it is the name of a file here, subfolders whose name its own begins with are passed over: no key in
        # them begins as the objects do that are looked for behind it.
        after = name if offset.startswith(start) and "/" not in name else ""
        waiting: list[str] = []
        with contextlib.suppress(FileNotFoundError):
            for entry in self._server.entries(self._path(folder) if folder else self._root or "/", after):
                # "a/" comes behind "a-b", the folder "a" before it.
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
