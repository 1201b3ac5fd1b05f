"""Lets renewed certificates of https listeners count without a restart: their files are looked at every few seconds."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from connect.api.errors import ConfigError
from connect.rest.tls.contexts import LISTENERS, pem_files, renew

log = logging.getLogger(__name__)
LOOK_S: Final = 10.0
"""The files are looked at this often."""
Stamps = Mapping[str, tuple[int, int, int]]


class Renewal:
    """Keeps one TLS context at what its files hold.

    Connections that are open stay as they are. An authority that is taken out of a trust store counts until a restart,
    as OpenSSL takes none out of a context.
    """

    def __init__(self, worker: Mapping[str, str], context: ssl.SSLContext, prefix: str = LISTENERS) -> None:
        self._worker = worker
        self._context = context
        self._prefix = prefix
        self._seen = self._stamps()
        self._refused: Stamps = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look at the files until the block ends."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        while self._seen:
            await asyncio.sleep(LOOK_S)
            found = await asyncio.to_thread(self._stamps)
            if found != self._seen:
                self._take(found)

    def _take(self, found: Stamps) -> None:
        """Load what the files hold now. What cannot be used is told once, and tried again at each look."""
        try:
            renew(self._context, self._worker, self._prefix)
        except (ConfigError, OSError) as error:
            if found != self._refused:
                log.warning("The certificate of %s stays as it was: %s", ", ".join(found), error)
            self._refused = found
        else:
            self._seen = found
            log.info("The certificate of %s is renewed.", ", ".join(found))

    def _stamps(self) -> Stamps:
        """Return what tells a file from a later one of its name; zeros for one that is not there now."""
        return {name: _stamp(Path(name)) for name in pem_files(self._worker, self._prefix)}


def _stamp(file: Path) -> tuple[int, int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size
