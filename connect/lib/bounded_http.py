"""Keeps the size and the time of a server's HTTP answer, headers included, within limits. Unpacked bytes count as well.

A server that a configuration names may send an answer without end. Every client of the product that uses urllib3 gets
its connections from `bound`, one that uses requests from `BoundedAdapter`. Neither reads more, or waits longer, than
its limits say.
"""

from __future__ import annotations

import http.client
import io
import socket
import threading
import zlib
from dataclasses import dataclass
from typing import Any, Final

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ProtocolError

_PART_BYTES: Final = 1 << 16
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_PACKED: Final = frozenset({"gzip", "x-gzip", "deflate"})


class UnboundedAnswerError(ProtocolError):
    """Says that a server's answer is longer than its limit, takes longer, or is packed in a way that was not asked
    for.
    """


@dataclass(frozen=True, slots=True)
class Limits:
    """Holds the limits of one answer: seconds from the end of the request to its end, and bytes, packed and unpacked.

    With `head_only` the bodies of answers are not read, so that reading them cannot fail; connections of answers with a
    body are closed.
    """

    whole_s: float
    answer_bytes: int
    head_only: bool = False


def bound(manager: PoolManager, limits: Limits) -> None:
    """Give connections that a pool opens from now on these limits."""

    class Answer(_WholeAnswer):
        pass

    Answer.limits = limits

    class Plain(HTTPConnection):
        response_class = Answer

    class Tls(HTTPSConnection):
        response_class = Answer

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class TlsPool(HTTPSConnectionPool):
        ConnectionCls = Tls

    manager.pool_classes_by_scheme = {"http": PlainPool, "https": TlsPool}


class _WholeAnswer(http.client.HTTPResponse):
    """Stands for an answer that is read and unpacked as a whole, within its limits, before anybody sees its status."""

    limits: Limits

    def __init__(self, sock: socket.socket, *args: Any, **named: Any) -> None:
        super().__init__(sock, *args, **named)
        self._connected = sock
        self._is_late = False
        self._whole: io.BytesIO | None = None

    def begin(self) -> None:
        """Read the status, the headers and the body. UnboundedAnswerError: they exceed the limits."""
        clock = threading.Timer(self.limits.whole_s, self._end)
        clock.daemon = True
        clock.start()
        try:
            super().begin()
            # The headers of an answer to HEAD, or of one without a body, may describe a body that does not come.
            if self.length != 0 and self.limits.head_only:
                self.will_close = True
                self._take(b"")
            elif self.length != 0:
                self._take(self._unpacked(self._received()))
        except (OSError, http.client.HTTPException):
            if not self._is_late:
                raise
        finally:
            clock.cancel()
        if self._is_late:
            raise UnboundedAnswerError(f"The answer took longer than {self.limits.whole_s:g} s")

    def isclosed(self) -> bool:
        """Return True once the body was taken."""
        return super().isclosed() if self._whole is None else self._whole.closed

    def read(self, amt: int | None = None) -> bytes:
        """Return bytes of the body; none after its end."""
        if self._whole is None:
            return super().read(amt)
        if self._whole.closed:
            return b""
        part = self._whole.read(amt)
        if amt is None or (amt and len(part) < amt):
            self._whole.close()
        return part

    def close(self) -> None:
        """Close the answer; it need not have been read."""
        super().close()
        if self._whole is not None:
            self._whole.close()

    def _end(self) -> None:
        self._is_late = True
        try:
            self._connected.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # The server has closed the connection already.

    def _received(self) -> bytearray:
        body = bytearray()
        while part := super().read(_PART_BYTES):
            body += part
            self._require_short(len(body))
        if self.length:
            raise http.client.IncompleteRead(bytes(body), self.length)
        return body

    def _unpacked(self, body: bytearray) -> bytes:
        packed = (self.headers.get("Content-Encoding") or "identity").strip().lower()
        if packed == "identity" or not body:
            return bytes(body)
        if packed not in _PACKED:
            raise UnboundedAnswerError(f"The answer has the Content-Encoding {packed[:50]!r}, which was not asked for")
        unpack = zlib.decompressobj(_GZIP_OR_ZLIB)
        try:
            plain = unpack.decompress(body, self.limits.answer_bytes + 1)
        except zlib.error:
            raise UnboundedAnswerError(f"The answer is not packed as it says ({packed})") from None
        self._require_short(len(plain))
        if not unpack.eof:
            raise UnboundedAnswerError(f"The answer is packed ({packed}), and ends too early")
        return plain

    def _take(self, body: bytes) -> None:
        """Keep the body, and headers that describe it as it is now."""
        for name in ("Content-Encoding", "Transfer-Encoding", "Content-Length"):
            del self.headers[name]
        self.headers["Content-Length"] = str(len(body))
        self.chunked = False
        self._whole = io.BytesIO(body)

    def _require_short(self, size: int) -> None:
        if size > self.limits.answer_bytes:
            raise UnboundedAnswerError(f"The answer is longer than {self.limits.answer_bytes >> 20} MiB")
