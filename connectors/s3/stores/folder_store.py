"""What stores that are folders have in common: a file per object, written under a hidden name until it is whole."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

P = TypeVar("P")
"""The type by which the store refers to a file: a path of this machine, or a text."""
UNFINISHED: Final = ".kconnect-unfinished-"
"""The name of a file begins with this until the file is whole; no listing has it."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object that is there: its metadata, and how its content is read."""

    attributes: Mapping[str, str]
    bytes_async: Callable[[], Awaitable[Any]]


class FolderStore(ABC, Generic[P]):
    """Takes the place of the client of a bucket. Its calls work in threads, side by side."""

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
        """Create a file, or replace it. obstore's AlreadyExistsError: it is there."""
        given = {**attributes, **{f"tag-{name}": value for name, value in (tags or {}).items()}}
        await asyncio.to_thread(self._put, self._path(key), data, given, is_conditional=mode == "create")

    @abstractmethod
    def _path(self, key: str) -> P:
        """Return the file of an object. ConnectError: its key is no path below the folder."""

    @abstractmethod
    def _put(self, path: P, data: Any, attributes: Mapping[str, str], *, is_conditional: bool) -> None:
        """Write a whole file. obstore's AlreadyExistsError: it is there, and `is_conditional`."""
