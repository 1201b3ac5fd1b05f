"""Decides which files of this machine a configuration may name: those that the worker's own file lists, no others."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from connect.api.allowed_hosts import ALLOWED_HOSTS, ANY_HOST
from connect.api.errors import ConfigError, ConfigProblem
from connect.lib.secrets import HIDDEN
from connect.lib.setting_text import parse_list

ALLOWED_PATHS: Final = "allowed.paths"
"""This key of the worker lists files and folders. A folder stands for all in it, too."""
PATH_CHARS_MAX: Final = 4096
"""Longer paths are refused; no known system takes them."""
CLOSED: Final = "!"
"""An entry that begins with this forbids a path and all in it, even if another entry allows a folder above it."""
EVERYWHERE: Final[Mapping[str, str]] = MappingProxyType({ALLOWED_PATHS: "/", ALLOWED_HOSTS: ANY_HOST})
"""A program that a person starts by a command gets these settings: it may reach all that the person may."""
_PASSES_THROUGH: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def allowed_by(worker: Mapping[str, str]) -> AllowedPaths:
    """Return the paths that a worker of these settings lets configurations name."""
    listed = parse_list(worker.get(ALLOWED_PATHS, ""))
    assert isinstance(listed, tuple)
    return AllowedPaths(listed)


class AllowedPaths:
    """Holds the files, and folders with all in them, that a configuration may name.

    Links count as the paths that they lead to. They are looked up on the disk at each call; nothing is cached."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        """Take the entries of the worker's list; those that begin with `!` are excluded from the others."""
        self.paths = tuple(path for path in paths if path)
        self._open = tuple(path for path in self.paths if not path.startswith(CLOSED))
        self._closed = tuple(path.removeprefix(CLOSED) for path in self.paths if path.startswith(CLOSED))

    def allow(self, path: str | Path) -> bool:
        """Tell if the file or folder, which need not be there, is one of these paths or below one."""
        return self._real(path) is not None

    @property
    def folders(self) -> list[str]:
        """Return those of the paths that are folders now, with links resolved.

        A folder that contains an excluded one is replaced by the other folders in it.
        """
        return [str(path) for path in self._whole() if path.is_dir()]

    @property
    def files(self) -> list[str]:
        """Return those of the paths that are files now, with links resolved; see `folders`."""
        return [str(path) for path in self._whole() if path.is_file()]

    def _whole(self) -> Iterator[Path]:
        closed = [Path(os.path.realpath(path)) for path in self._closed]
        for path in self._open:
            yield from _without(Path(os.path.realpath(path)), closed)

    def problem(self, key: str, path: str, *, shown: bool = True) -> ConfigProblem | None:
        """Return why a path that a key names is not allowed, and which line to add; None when it is allowed.

        `shown` tells if the text may show the path.
        """
        return None if self._real(path) is not None else self._told(key, path, shown=shown)

    def problems(self, named: Iterable[tuple[str, str]], secret: Container[str]) -> Iterator[ConfigProblem]:
        """Yield the problems of pairs of a key and a path. No text shows the value of a key that is in `secret`."""
        found = (self.problem(key, path, shown=key not in secret) for key, path in named)
        yield from (problem for problem in found if problem is not None)

    def _told(self, key: str, path: str, *, shown: bool) -> ConfigProblem:
        wanted = path if shown else f"THE PATH OF {key}"
        given = path if shown else HIDDEN
        return ConfigProblem(key, f"Invalid value {given} for configuration {key}: {self.refusal(wanted)}")

    def refusal(self, path: str) -> str:
        """Return the sentences that tell why a path is not allowed, and which line to add to the worker's file."""
        if _may_be_one(path) and _is_below(Path(os.path.realpath(path)), self._closed):
            return f"{ALLOWED_PATHS} of this worker lets no configuration name what is in that folder. Use another one."
        line = f"{ALLOWED_PATHS}={'…,' if self.paths else ''}{path}"
        return (
            "this worker lets no configuration name that file or folder. Where it should, add to the worker's own "
            f"file: {line} (files, and folders with all in them)."
        )

    def require(self, key: str, path: str, *, shown: bool = True) -> Path:
        """Return the path without links and `..`. Raise ConfigError, worded as by `problem`, when it is not allowed."""
        real = self._real(path)
        if real is None:
            raise ConfigError([self._told(key, path, shown=shown)])
        return real

    def open(self, key: str, path: str, flags: int, *, mode: int = 0o666, shown: bool = True) -> int:
        """Open a file and return its descriptor. Raise ConfigError when it is not allowed, OSError as `os.open` does.

        From the root on no link is followed, so a link that is made meanwhile cannot lead to another file.
        """
        real = self.require(key, path, shown=shown)
        folder = os.open(real.anchor, _PASSES_THROUGH)
        try:
            for name in real.parts[1:-1]:
                inner = os.open(name, _PASSES_THROUGH, dir_fd=folder)
                os.close(folder)
                folder = inner
            return os.open(real.name or ".", flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
        finally:
            os.close(folder)

    def read_bytes(self, key: str, path: str, *, shown: bool = True) -> bytes:
        """Return the bytes of a file. Raise ConfigError when it is not allowed, OSError when it cannot be read."""
        with os.fdopen(self.open(key, path, os.O_RDONLY, shown=shown), "rb") as file:
            return file.read()

    def _real(self, path: str | Path) -> Path | None:
        if not self._open or not _may_be_one(str(path)):
            return None
        real = Path(os.path.realpath(path))
        return real if _is_below(real, self._open) and not _is_below(real, self._closed) else None


def _may_be_one(path: str) -> bool:
    """Tell if a text can be a path at all. A too long one is refused before each of its folders is looked up on the
    disk.
    """
    return "\0" not in path and len(path) <= PATH_CHARS_MAX


def _is_below(real: Path, roots: Iterable[str]) -> bool:
    return any(real.is_relative_to(os.path.realpath(root)) for root in roots)


def _without(folder: Path, closed: Sequence[Path]) -> Iterator[Path]:
    """Yield a folder; if it contains excluded paths, yield all else in it instead."""
    inside = [one for one in closed if one.is_relative_to(folder)]
    if not inside:
        yield folder
    elif folder not in inside:
        with suppress(OSError):  # nobody may name what is in a folder that cannot be listed
            for child in folder.iterdir():
                if not child.is_symlink():
                    yield from _without(child, inside)
