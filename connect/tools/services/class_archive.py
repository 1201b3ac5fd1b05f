"""Makes archives of the classes that a Java program loads; with them it starts in half the time (JEP 350)."""

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
"""A JVM gets this many seconds to write its archive at its end: 50 MB, which takes 3 to 12 s."""


class Stoppable(Protocol):
    """Stands for a service that has started."""

    def stop(self, grace_s: float | None = None) -> None:
        """End the service gracefully."""


Start = Callable[[str], AbstractContextManager[Stoppable]]
"""A function of this type starts the program with one more option of the JVM; it may raise ServiceError."""


def archived_classes(program: str, java: Java, given: Sequence[str], start: Start) -> Sequence[str]:
    """Return the JVM's options for the archive of `program`. If the cache has none, one start of the program records
    it.

    There are no options if those in `given` name an archive, or if the archive could not be recorded: the cache then
    holds the reason, and it is not tried again. A JVM ignores an archive that does not fit its jars.
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
