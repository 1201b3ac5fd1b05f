"""Finds users by the bearer tokens of an OpenID Connect issuer: JWTs with the claims that the worker's file wants."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from joserfc.errors import (
    BadSignatureError,
    ExpiredTokenError,
    InvalidClaimError,
    JoseError,
    MissingClaimError,
)
from joserfc.jws import JWSRegistry, extract_compact
from joserfc.jwt import JWTClaimsRegistry, decode

from connect.rest.access.identity import Grants, Identity
from connect.rest.access.issuer_keys import IssuerKeys
from connect.rest.access.login_errors import LoginError
from connect.runtime.settings.role_grants import OIDC
from connect.runtime.settings.worker_config import WorkerConfig

ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
"""Only the holder of a private key can make these signatures; with HS256 a public key would be the password."""
LEEWAY_S: Final = 60
"""Clocks may differ by this many seconds."""
_HEADER_MAX_BYTES: Final = 4096
_KEPT: Final = 10_000
_CLOCKS: Final = "Compare the clocks of the issuer and of this worker"
_MALFORMED: Final = "The token is no signed JWT. Send `Authorization: Bearer` and an access token of the issuer."


class _Known(NamedTuple):
    """Holds the outcome for a token that was verified; such tokens are kept by their digests."""

    identity: Identity
    generation: int


class TokenUsers:
    """Knows users by their tokens. It is owned by the event loop."""

    def __init__(
        self, worker: WorkerConfig, issuer: str, grants: Grants, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Read the settings; the issuer is asked when the first token comes. `clock` gives seconds that never go
        back.
        """
        self._user_claim = worker.rest_oidc_user_claim
        self._groups_claim = worker.rest_oidc_groups_claim
        self._grants = grants
        self._keys = IssuerKeys(issuer, clock)
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        self._registry.max_header_length = _HEADER_MAX_BYTES
        self._claims = JWTClaimsRegistry(
            leeway=LEEWAY_S,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "values": list(worker.rest_oidc_audience)},
            exp={"essential": True},
        )

    async def identity(self, token: str) -> Identity:
        """Return the user that a token was made for. LoginError says what is wrong with it."""
        self._keys.keep_fresh()
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        known = self._known.get(digest)
        if known is not None and known.generation == self._keys.generation and not known.identity.has_ended():
            return known.identity
        claims = await self._verified(token)
        name = _claim(claims, self._user_claim)
        if not isinstance(name, str) or not name.strip():
            raise LoginError(f"The token has no claim {self._user_claim} with a user's name (rest.oidc.user.claim).")
        # Histories and logs would show such a name as another one, or not at all: a user could act as somebody else.
        if not name.isprintable():
            raise LoginError(f"The user's name in the token's claim {self._user_claim} has characters without a shape.")
        groups = _texts(_claim(claims, self._groups_claim))
        identity = self._grants.identity(OIDC + name, groups, claims["exp"] + LEEWAY_S)
        self._known[digest] = _Known(identity, self._keys.generation)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return identity

    async def _verified(self, token: str) -> Mapping[str, Any]:
        key = await self._keys.key(self._key_id(token))
        try:
            claims = decode(token, key, ALGORITHMS, self._registry).claims
            self._claims.validate(claims)
        except ExpiredTokenError:
            raise LoginError(f"The token has expired. Get a new one. {_CLOCKS} if it is new.") from None
        except MissingClaimError:
            raise LoginError("The token lacks one of the claims iss, aud and exp.") from None
        except InvalidClaimError as error:
            raise LoginError(_wrong_claim(error.claim)) from None
        except BadSignatureError:
            raise LoginError("The token's signature is not its issuer's.") from None
        # joserfc does not check the types of a header's members, and claims may be nested too deep for it.
        except (JoseError, ValueError, TypeError, OverflowError, RecursionError):
            raise LoginError(_MALFORMED) from None
        return claims

    def _key_id(self, token: str) -> str | None:
        try:
            header = extract_compact(token.encode("ascii"), registry=self._registry).headers()
        except (JoseError, ValueError):
            raise LoginError(_MALFORMED) from None
        if header.get("alg") not in ALGORITHMS:
            raise LoginError("The token is not signed by an algorithm with public keys, such as RS256 or ES256.")
        key_id = header.get("kid")
        if key_id is not None and not isinstance(key_id, str):
            raise LoginError(_MALFORMED)
        return key_id


def _wrong_claim(claim: str) -> str:
    if claim == "iss":
        return "The token is of another issuer than rest.oidc.issuer."
    if claim == "aud":
        return "The token was made for another audience than rest.oidc.audience."
    if claim in {"iat", "nbf"}:
        return f"The token's claim {claim} is no time, or one to come. {_CLOCKS}."
    return "One of the token's claims is not of the kind that RFC 7519 says."


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """Return a claim by its path: its name, or the names of nested members with dots between them."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _texts(value: Any) -> list[str]:
    """Return the texts of a list, or the words of a text, as the claim `scope` may have either form."""
    if isinstance(value, str):
        return value.split()
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
