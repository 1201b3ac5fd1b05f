"""Makes archives of the classes that a Java program loads, with which it starts in half the time (JEP 350)."""

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from connect.tools.services.java import Java
from connect.tools.services.process.cache import cache_folder, ensure_folder
from connect.tools.services.process.errors import ServiceError

RECORD_OPTION: Final = "-XX:ArchiveClassesAtExit"
_USE_OPTION: Final = "-XX:SharedArchiveFile"
_ARCHIVE: Final = "classes.jsa"
_WHY_NOT: Final = "why-not.txt"
_WRITE_GRACE_S: Final = 60.0
"""A JVM gets so many seconds to write its archive at its end: it writes 50 MB, in 3 to 12 s."""


class Stoppable(Protocol):
    """Is a service that has started."""

    def stop(self, grace_s: float | None = None) -> None:
        """End the service gracefully."""


Start = Callable[[str], AbstractContextManager[Stoppable]]
"""Starts the program with one more option of the JVM; may raise ServiceError."""


def archived_classes(program: str, java: Java, given: Sequence[str], start: Start) -> Sequence[str]:
    """Return the options of this JVM for the archive of `program`, recorded now by one start if the cache has none.

    None where the options that are `given` name an archive. None, too, where it could not be recorded: the cache then
    holds the reason, and it is not tried again. A JVM leaves an archive aside that does not fit its jars.
    """
    if any(option.startswith((RECORD_OPTION, _USE_OPTION)) for option in given):
        return ()
    build = hashlib.sha256(f"{java.launcher.resolve()} {java.version}".encode()).hexdigest()[:12]
    folder = ensure_folder(
        cache_folder(os.environ) / f"{program}-classes-{build}",
        complete=lambda folder: (folder / _ARCHIVE).is_file() or (folder / _WHY_NOT).is_file(),
        fill=lambda folder: _record(folder, start),
    )
    archive = folder / _ARCHIVE
    return (f"{_USE_OPTION}={archive}",) if archive.is_file() else ()


def _record(folder: Path, start: Start) -> None:
    archive = folder / _ARCHIVE
    try:
        with start(f"{RECORD_OPTION}={archive}") as service:
            service.stop(_WRITE_GRACE_S)
    except ServiceError as error:
        (folder / _WHY_NOT).write_text(f"{error}\n")
    else:
        if not archive.is_file():
            (folder / _WHY_NOT).write_text("The JVM ended without writing an archive.\n")
