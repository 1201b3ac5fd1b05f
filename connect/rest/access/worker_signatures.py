"""Signs the requests between workers of a cluster, and checks the signatures. Pure.

The key is in the config topic, so that only workers can sign. A signature covers all that the answer depends on, the
address of the worker that is asked, and a stamp: the time and a random number. So a request that somebody has recorded
is not valid later, nor twice, nor at another worker. Java's workers sign other requests in another way, see
`resources/internal.py`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import time
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, NamedTuple

SIGNATURE: Final = "X-Connect-Forwarded-Signature"
STAMP: Final = "X-Connect-Forwarded-Stamp"
DIGEST: Final = "Content-Digest"
"""This header holds the digest of a body in the form of RFC 9530."""
CERTIFIED: Final = "X-Connect-Forwarded-Certificate-User"
"""This header tells the user whose certificate the first worker saw, percent-encoded."""
WINDOW_S: Final = 60.0
"""A signature is valid for this many seconds, and the clocks of workers may differ by as much."""
_STAMP: Final = re.compile(r"([0-9]{1,12})\.[0-9a-f]{32}")


class Verdict(Enum):
    """Tells the outcome of checking a signature."""

    NONE = auto()
    """No worker of this cluster has signed the request as it is."""
    OLD = auto()
    """The signature is right, but too old or too new by this worker's clock, or from the time before this worker
    began.
    """
    SEEN = auto()
    """The signature is right, but has come before."""
    RIGHT = auto()


class Signable(NamedTuple):
    """Holds the parts of a request that are signed; `path` and `query` are as sent."""

    method: str
    path: str
    query: str
    to: str
    """It is the `host:port` of the worker that is asked."""
    origin: str = ""
    """It is the address of the client that asked first."""
    certified: str = ""
    digest: str = ""

    def signature(self, key: str, stamp: str) -> str:
        """Return the signature with this key and stamp, which only a worker can make."""
        text = "\n".join((*self, stamp))
        return hmac.new(key.encode(), text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that sign the request now; none while the cluster has no key."""
        if not key:
            return {}
        stamp = f"{int(time.time())}.{secrets.token_hex(16)}"
        certified = {CERTIFIED: self.certified} if self.certified else {}
        digest = {DIGEST: self.digest} if self.digest else {}
        return {STAMP: stamp, SIGNATURE: self.signature(key, stamp), **certified, **digest}


def digest_of(body: bytes) -> str:
    """Return the digest of a body, which is signed in its place."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


class Stamps:
    """Remembers the stamps that have come within `WINDOW_S`. It is owned by the event loop."""

    def __init__(self, clock_s: Callable[[], float] = time.time) -> None:
        """Take `clock_s`, which returns the seconds since 1970."""
        self._clock_s = clock_s
        self._began_s = int(clock_s())
        self._seen: set[str] = set()
        self._forgotten: deque[tuple[float, str]] = deque()

    def take(self, stamp: str) -> Verdict:
        """Judge the stamp of a right signature, and remember the stamp as seen."""
        now_s = self._clock_s()
        while self._forgotten and self._forgotten[0][0] < now_s:
            self._seen.discard(self._forgotten.popleft()[1])
        parts = _STAMP.fullmatch(stamp)
        # The stamps that came before this worker began are not known, so stamps of that time are refused.
        if parts is None or int(parts[1]) < self._began_s or abs(now_s - int(parts[1])) > WINDOW_S:
            return Verdict.OLD
        if stamp in self._seen:
            return Verdict.SEEN
        self._seen.add(stamp)
        self._forgotten.append((now_s + 2 * WINDOW_S, stamp))
        return Verdict.RIGHT


def is_same(given: str, right: str) -> bool:
    """Return True if a signature is the right one; the time that this takes tells nothing of the right one."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode())
