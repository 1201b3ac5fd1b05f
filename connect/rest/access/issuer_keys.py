"""Keeps the keys with which an issuer signs its tokens: found by discovery, and read again if a key is unknown.

Known keys stay valid while the issuer is away. A key that is no longer listed is refused once the list was read again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson
from aiohttp import ClientError, ClientSession, ClientTimeout
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey, import_key

from connect.rest.access.login_errors import IssuerAwayError, LoginError
from connect.runtime.settings.issuer_url import check_issuer_url

PublicKey = RSAKey | ECKey | OKPKey
AGAIN_S: Final = 10.0
"""The issuer is asked at most once in this many seconds, however many tokens have unknown keys."""
OLD_S: Final = 300.0
"""The list is read again after this many seconds, as the issuer may have withdrawn a key."""
_TIMEOUT_S: Final = 5.0
_LONGEST_BYTES: Final = 1 << 18
"""A list of keys may have this many bytes. Reading that takes a part of a second, for which REST waits."""
_KINDS: Final = ("RSA", "EC", "OKP")
_logger = logging.getLogger(__name__)


class IssuerKeys:
    """Keeps the keys of one issuer. It is owned by the event loop."""

    def __init__(self, issuer: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without keys. `issuer` is its address, as in its tokens. `clock` gives seconds that never go back."""
        self._issuer = issuer
        self._clock = clock
        self._keys: dict[str | None, PublicKey] = {}
        self._asked_s: float | None = None
        self._read_s = 0.0
        self._trouble = ""
        self._is_away = False
        self._asking = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None
        self.generation = 0
        """This grows with each change of the keys."""

    def keep_fresh(self) -> None:
        """Begin to read the list again if it is old, without waiting for that."""
        is_old = bool(self._keys) and self._clock() - self._read_s > OLD_S
        if is_old and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._ask())

    async def key(self, key_id: str | None) -> PublicKey:
        """Return the key with an id, or the issuer's only key for None.

        LoginError: the issuer has no such key. IssuerAwayError: no key of the issuer was ever read.
        """
        found = self._find(key_id)
        if found is None:
            await self._ask()
            found = self._find(key_id)
        if found is not None:
            return found
        if not self._keys:
            raise IssuerAwayError(
                f"The token cannot be checked: the keys of {self._issuer} could not be read, {self._trouble}."
            )
        if self._is_away:
            raise IssuerAwayError(
                f"The token is signed by a key that is not known here, and {self._issuer} could not be asked for its "
                f"keys, {self._trouble}. Tokens of known keys are taken meanwhile."
            )
        if key_id is None:
            raise LoginError("The token does not say by which of its issuer's keys it is signed.")
        raise LoginError("The token is signed by a key that its issuer does not list.")

    def _find(self, key_id: str | None) -> PublicKey | None:
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return None if key_id is None else self._keys.get(key_id)

    async def _ask(self) -> None:
        async with self._asking:
            if self._asked_s is not None and self._clock() - self._asked_s < AGAIN_S:
                return
            self._asked_s, self._is_away = self._clock(), True
            try:
                found = await _keys_of(self._issuer)
            except TimeoutError:
                self._trouble = f"as it did not answer within {_TIMEOUT_S:.0f} s"
            except (ClientError, OSError, ValueError) as error:
                self._trouble = f"as {str(error).rstrip('.') or type(error).__name__}"
            else:
                self._is_away = False
                self._take(found)
                return
            _logger.warning(
                "issuer_away", extra={"issuer": self._issuer, "error": self._trouble, "known_keys": len(self._keys)}
            )

    def _take(self, found: Mapping[str | None, PublicKey]) -> None:
        before = {key_id: key.thumbprint() for key_id, key in self._keys.items()}
        self._keys, self._read_s, self._trouble = dict(found), self._clock(), "as it lists none"
        if before != {key_id: key.thumbprint() for key_id, key in found.items()}:
            self.generation += 1
            _logger.info("issuer_keys", extra={"issuer": self._issuer, "keys": len(found)})


async def _keys_of(issuer: str) -> Mapping[str | None, PublicKey]:
    """Return an issuer's keys by their ids. ValueError says what is wrong with its answer."""
    # The issuer's certificate is checked by the machine's authorities, or by those that SSL_CERT_FILE names.
    async with ClientSession(timeout=ClientTimeout(total=_TIMEOUT_S), trust_env=True) as client:
        about = await _read(client, f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if about.get("issuer") != issuer:
            raise ValueError("its discovery document names another issuer than rest.oidc.issuer")
        try:
            place = check_issuer_url(str(about.get("jwks_uri", "")))
        except ValueError as error:
            raise ValueError(f"its jwks_uri cannot be used: {error}") from None
        listed = (await _read(client, place)).get("keys")
    if not isinstance(listed, list):
        raise ValueError("what is at its jwks_uri lists no keys")  # noqa: TRY004 - it is a value of another party
    return {given.get("kid"): key for given in listed if (key := _public_key(given)) is not None}


def _public_key(given: Any) -> PublicKey | None:
    """Return a key for signatures; None for keys of another use or of an unknown kind."""
    if not isinstance(given, dict) or given.get("kty") not in _KINDS or given.get("use", "sig") != "sig":
        return None
    if not isinstance(given.get("kid"), str | None):
        return None
    try:
        key = import_key(given)
    except (JoseError, ValueError, KeyError):  # joserfc looks a curve up by its name, which it may not know.
        return None
    return key if isinstance(key, PublicKey) else None


async def _read(client: ClientSession, url: str) -> Mapping[str, Any]:
    async with client.get(url, allow_redirects=False) as response:
        if response.status != 200:
            raise ValueError(f"it answers HTTP {response.status}")
        data = bytearray()
        async for part in response.content.iter_chunked(1 << 16):
            data += part
            if len(data) > _LONGEST_BYTES:
                raise ValueError("its answer is longer than 256 KiB")
    try:
        found = orjson.loads(data)
    except ValueError:
        raise ValueError("its answer is no JSON") from None
    if not isinstance(found, dict):
        raise ValueError("its answer is no JSON object")  # noqa: TRY004 - it is a value of another party
    return found
