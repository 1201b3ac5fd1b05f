"""Keeps fetched programs in a cache folder; each folder in it is either complete or absent."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Final

from connect.tools.services.process.polling import poll_until

CACHE_KEY: Final = "CONNECT_SERVICES_CACHE"
FETCH_DEADLINE_S: Final = 900.0
_held: Final = ContextVar[frozenset[Path]]("held", default=frozenset())
"""Holds the lock files that this thread has locked."""


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the cache's folder: CONNECT_SERVICES_CACHE, or else ours in the user's cache folder.

    XDG_CACHE_HOME may name the user's cache folder.
    """
    configured = environ.get(CACHE_KEY)
    users = environ.get("XDG_CACHE_HOME", "")
    # A relative path is to be ignored (XDG Base Directory Specification 0.8).
    base = Path(users) if Path(users).is_absolute() else Path.home() / ".cache"
    return Path(configured) if configured else base / "connect-for-kafka"


def ensure_folder(target: Path, *, complete: Callable[[Path], bool], fill: Callable[[Path], None]) -> Path:
    """Return `target`; if it is not complete, `fill` fills it first.

    `fill` writes into a new folder beside the target, which gets the target's name in the end. One process does this at
    a time. `fill` must not ask for another folder of the same cache, as it would wait for itself (RuntimeError).
    """
    if complete(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.parent / ".lock"):
        if complete(target):  # another process has filled it while this one waited
            return target
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as workspace:
            filled, outdated = Path(workspace, "new"), Path(workspace, "outdated")
            filled.mkdir()
            fill(filled)
            if target.exists():
                target.rename(outdated)
            filled.rename(target)
    return target


def remove_folder(folder: Path) -> None:
    """Remove a folder and all it holds. It is no error if the folder is gone already."""
    if folder.exists():
        shutil.rmtree(folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file; the kernel releases it if the process dies."""
    if path in _held.get():
        raise RuntimeError(f"{path} is held already: get what is needed before the folder is filled.")
    with path.open("a") as lock:
        poll_until(
            lambda: _try_lock(lock),
            deadline_s=FETCH_DEADLINE_S,
            waiting_for=f"another process that is fetching into {path.parent}",
            fix=f"See who holds {path}, or set {CACHE_KEY} to another folder.",
        )
        mark = _held.set(_held.get() | {path})
        try:
            yield
        finally:
            _held.reset(mark)


def _try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
