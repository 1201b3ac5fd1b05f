"""Defines what stores in folders share: each object is a file, which has a hidden name until it is whole."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

P = TypeVar("P")
"""The store's files have paths of this type: a path of this machine, or a text."""
UNFINISHED: Final = ".kconnect-unfinished-"
"""The name of a file begins with this text until the file is whole. Listings leave such files out."""


@dataclass(frozen=True, slots=True)
class Found:
    """Holds the metadata of an object, and the function that reads its content."""

    attributes: Mapping[str, str]
    bytes_async: Callable[[], Awaitable[Any]]


class FolderStore(ABC, Generic[P]):
    """Has the calls of a bucket's client, for a folder. Calls run in threads, several at a time."""

    async def put_async(
        self,
        key: str,
        data: Any,
        *,
        attributes: Mapping[str, str],
        tags: Mapping[str, str] | None,
        mode: str,
        use_multipart: bool,  # noqa: ARG002 - a file has no parts
    ) -> None:
        """Create a file, or replace it if `mode` allows that. obstore's AlreadyExistsError: the file exists already."""
        given = {**attributes, **{f"tag-{name}": value for name, value in (tags or {}).items()}}
        await asyncio.to_thread(self._put, self._path(key), data, given, is_conditional=mode == "create")

    @abstractmethod
    def _path(self, key: str) -> P:
        """Return the path of an object's file. ConnectError: the key is no path below the folder."""

    @abstractmethod
    def _put(self, path: P, data: Any, attributes: Mapping[str, str], *, is_conditional: bool) -> None:
        """Write a whole file. obstore's AlreadyExistsError: with `is_conditional` the file exists already."""
