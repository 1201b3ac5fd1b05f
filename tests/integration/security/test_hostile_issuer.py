"""An issuer of tokens that lies, never ends or is no issuer: users' tokens are refused, and a registry gets none."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from hostile_http import ENDLESS, Answer, Handler, HostileServer, hostile, nested, redirect, say
from hostile_texts import ANSI
from joserfc.jwk import ECKey

from connect.api.errors import RetriableError
from connect.convert.registry.config import RegistryConfig
from connect.convert.registry.oauth import OAuthTokens, TokenRefusedError
from connect.lib.http_client import HttpClient
from connect.lib.printable import printable
from connect.rest.access import issuer_keys
from connect.rest.access.issuer_keys import IssuerKeys
from connect.rest.access.login_errors import IssuerAwayError, LoginError

pytestmark = pytest.mark.attacks

SECRET = "Kx7-oauth-9Qz"
TOKEN = "Kx7-token-9Qz"
REFUSED_WITHIN_S = 30


def listing(keys: Any, **about: str) -> Answer:
    """Answer discovery truly, unless `about` says otherwise, and keys with these, or as an answer says."""

    def answer(to: Handler) -> None:
        own = {"issuer": to.server.url, "jwks_uri": f"{to.server.url}/keys", **about}
        found = say(own) if to.path.endswith("openid-configuration") else keys if callable(keys) else say(keys)
        found(to)

    return answer


def key_of(server: HostileServer, key_id: str | None = "k") -> Any:
    async def asked() -> Any:
        async with asyncio.timeout(REFUSED_WITHIN_S):
            return await IssuerKeys(server.url).key(key_id)

    return asyncio.run(asked())


@pytest.mark.parametrize("part", ["discovery", "keys"])
@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_answer_of_an_issuer_is_given_up(name: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuer_keys, "_TIMEOUT_S", 1.0)
    answers = ENDLESS[name] if part == "discovery" else listing(ENDLESS[name])
    with hostile(answers) as server, pytest.raises(IssuerAwayError, match=r"longer than|did not answer|header"):
        key_of(server)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_issuer_sends_nobody_elsewhere(status: int) -> None:
    with hostile(say({"keys": []})) as other:
        for answers in (redirect(f"{other.url}/x", status), listing(redirect(f"{other.url}/x", status))):
            with hostile(answers) as server, pytest.raises(IssuerAwayError, match=f"HTTP {status}"):
                key_of(server)
        assert other.asked == []


PLACES = ("file:///etc/passwd", "ftp://127.0.0.1/x", "http://keys.example/x", "//x/y", "http://u:p@127.0.0.1/", "")


@pytest.mark.parametrize("place", PLACES)
def test_keys_come_from_an_address_that_nobody_on_the_way_can_change(place: str) -> None:
    with hostile(listing({}, jwks_uri=place)) as server, pytest.raises(IssuerAwayError, match="jwks_uri"):
        key_of(server)


WRONG: dict[str, Any] = {
    "null": None, "a list": [], "nothing": {}, "keys are text": {"keys": "x"}, "deep": nested(),
    "keys are numbers": {"keys": [1, None, "x", []]}, "one is deep": say(b'{"keys":[' + b"[" * 100_000),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_lists_no_keys_is_no_issuer(name: str) -> None:
    with hostile(listing(WRONG[name])) as server, pytest.raises(IssuerAwayError):
        key_of(server)


BAD_KEYS: dict[str, dict[str, Any]] = {
    "a secret": {"kty": "oct", "k": "eA"}, "a curve that nobody knows": {"kty": "EC", "crv": "x", "x": "AA", "y": "AA"},
    "a curve that is a list": {"kty": "EC", "crv": [], "x": "AA", "y": "AA"},
    "a number for text": {"kty": "RSA", "n": 5, "e": "AQAB"}, "no parts": {"kty": "RSA"},
    "no curve of its kind": {"kty": "OKP", "crv": "x", "x": "AA"}, "empty": {"kty": "RSA", "n": "", "e": ""},
    "an id that is a list": {"kty": "RSA", "kid": [], "n": "AA", "e": "AQAB"},
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_KEYS)
def test_a_key_that_is_none_hides_no_other(name: str) -> None:
    good = ECKey.generate_key("P-256", {"kid": "k"}).as_dict(private=False)
    with hostile(listing({"keys": [{"kid": "bad", **BAD_KEYS[name]}, good]})) as server:
        assert key_of(server).as_dict(private=False)["x"] == good["x"]
        with pytest.raises(LoginError, match="a key that its issuer does not list"):
            key_of(server, "bad")


def test_more_keys_than_an_issuer_has_are_not_taken() -> None:
    key = ECKey.generate_key("P-256").as_dict(private=False)
    many = {"keys": [{**key, "kid": str(i)} for i in range(2500)]}
    with hostile(listing(many)) as server, pytest.raises(IssuerAwayError, match="longer than 256 KiB"):
        key_of(server, "1")


def tokens(server: HostileServer, timeout_s: float = 1.0) -> OAuthTokens:
    given = {
        "schema.registry.url": server.url, "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": f"{server.url}/token", "bearer.auth.client.id": "me",
        "bearer.auth.client.secret": SECRET,
    }  # fmt: skip
    return OAuthTokens(RegistryConfig.parse(given), HttpClient(timeout_s=timeout_s))


def jwt(claims: bytes) -> str:
    return f"a.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.c"


BAD_TOKENS: dict[str, Any] = {
    "a header more": f"{TOKEN}\r\nX-More: 1", "a line end": f"{TOKEN}\n", "NUL": f"{TOKEN}\0",
    "another script": f"{TOKEN}\u4e2d", "half a character": f"{TOKEN}\ud800", "empty": "", "a list": [TOKEN],
    "a megabyte": TOKEN * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_TOKENS)
def test_a_token_that_no_header_carries_is_none(name: str) -> None:
    with hostile(say({"access_token": BAD_TOKENS[name]})) as server:
        with pytest.raises(TokenRefusedError, match="gives no token") as refused:
            tokens(server).token()
        assert TOKEN not in str(refused.value)


LIFETIMES: dict[str, bytes] = {
    "no number": b"NaN", "endless": b"1e999", "of 400 digits": b"9" * 400, "a list": b"[]",
    "a thousand years": b"31536000000", "deep": b"[" * 20_000 + b"]" * 20_000,
}  # fmt: skip


@pytest.mark.parametrize("name", LIFETIMES)
def test_a_lifetime_that_is_none_keeps_a_token_for_a_minute(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the answer and in the token's own claim; where the answer is no JSON for it, there is no token."""
    clock_s = [0.0]
    monkeypatch.setattr("connect.lib.oauth.client_credentials.time.monotonic", lambda: clock_s[0])
    in_claims = say({"access_token": jwt(b'{"exp":' + LIFETIMES[name] + b"}")})
    in_answer = say(b'{"access_token":"' + TOKEN.encode() + b'","expires_in":' + LIFETIMES[name] + b"}")
    for answers in (in_claims, in_answer):
        with hostile(answers) as server:
            kept = tokens(server)
            try:
                for clock_s[0] in (0.0, 29.0, 61.0, 90.0):
                    kept.token()
            except TokenRefusedError:
                assert answers is in_answer
                continue
            assert len(server.asked) == 2


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_answer_gives_no_token(name: str) -> None:
    with hostile(ENDLESS[name]) as server, pytest.raises(RetriableError, match="UnboundedAnswerError"):
        tokens(server).token()


@pytest.mark.parametrize("answers", [nested(), say(b"\xff"), say([]), say({"error": "x" * 10_000_000}, 400)])
def test_what_is_no_answer_of_an_issuer_is_told_briefly(answers: Answer) -> None:
    with hostile(answers) as server, pytest.raises(TokenRefusedError) as refused:
        tokens(server).token()
    assert len(str(refused.value)) < 1000


def test_what_an_issuer_says_steers_no_terminal_and_its_redirect_takes_no_secret() -> None:
    with hostile(say({"error": ANSI}, 400)) as server, pytest.raises(TokenRefusedError) as refused:
        tokens(server).token()
    assert "\x1b" not in printable(str(refused.value))
    with hostile(say(json.loads('{"access_token":"x"}'))) as other, hostile(redirect(other.url, 307)) as server:
        with pytest.raises(TokenRefusedError, match="HTTP 307"):
            tokens(server).token()
        assert other.asked == []
