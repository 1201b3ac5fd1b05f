"""Checks bearer tokens of an issuer that runs: what is taken, what is refused and with which words, and keys that
change.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jws
from joserfc.jwk import RSAKey
from oidc_issuer import AUDIENCE, Issuer
from rest_client import FILE_SOURCE, Rest, ServerMaker, refused
from sample_plugins import worker_config

from connect.api.errors import ConfigError
from connect.rest.access import issuer_keys, token_users
from connect.rest.access.identity import Grants
from connect.rest.access.issuer_keys import AGAIN_S, OLD_S, IssuerKeys
from connect.rest.access.login_errors import IssuerAwayError, LoginError
from connect.rest.access.token_users import TokenUsers
from connect.rest.server.authentication import Login

CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    found = Issuer(tmp_path)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def keys(issuer: Issuer) -> dict[str, str]:
    return {
        "rest.oidc.issuer": issuer.url, "rest.oidc.audience": f"other,{AUDIENCE}",
        "rest.roles.viewer": "oidc:ada", "rest.roles.editor": "group:payments on payments-*",
    }  # fmt: skip


def ask(rest: Rest, token: str, method: str = "GET", path: str = "/connectors", body: Any = ...) -> Any:
    return rest(method, path, body, headers={"Authorization": f"Bearer {token}"})


def test_a_token_gives_its_user_and_groups_their_roles(
    serve: ServerMaker, issuer: Issuer, keys: dict[str, str]
) -> None:
    rest = serve(worker=keys)
    ada, ed = issuer.token("ada"), issuer.token("ed", groups=["x", "payments"])
    assert ask(rest, ada).json() == []
    assert ask(rest, ed, "PUT", "/connectors/payments-1/config", CONFIG).status_code == 201
    denied = ask(rest, ada, "DELETE", "/connectors/payments-1")
    assert refused(denied, 403) == "oidc:ada may not do this to connector payments-1: it takes the role editor."
    assert denied.headers["WWW-Authenticate"] == 'Bearer realm="KafkaConnect", error="insufficient_scope"'
    refused(ask(rest, ed, "PUT", "/connectors/orders-1/config", CONFIG), 403)
    refused(ask(rest, issuer.token("eve")), 403)
    history = ask(rest, ada, path="/connectors/payments-1/history").json()
    assert history["configs"][0]["who"].startswith("oidc:ed at 127.0.0.1")
    assert issuer.asked() == 1


def test_both_ways_to_log_in_may_stand_side_by_side(
    serve: ServerMaker, issuer: Issuer, keys: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "users").write_text("ada=lovelace\n")
    rest = serve(worker=keys | {"rest.basic.auth.file": str(tmp_path / "users"), "rest.roles.admin": "ada"})
    assert rest("GET", "/admin/loggers", auth=("ada", "lovelace")).status_code == 200
    # The issuer's ada is another one than the file's.
    refused(ask(rest, issuer.token("ada"), path="/admin/loggers"), 403)
    answer = rest("GET", "/connectors")
    challenges = answer.raw.headers.getlist("WWW-Authenticate")
    assert challenges == ['Basic realm="KafkaConnect"', 'Bearer realm="KafkaConnect"']
    refused(rest("GET", "/connectors", auth=("ada", "wrong")), 401, "User cannot access the resource.")


def public_pem(issuer: Issuer) -> bytes:
    key = issuer.keys["k1"]
    assert isinstance(key, RSAKey)
    return key.public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def unsigned(issuer: Issuer) -> str:
    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + 300}
    return f"{part({'alg': 'none', 'kid': 'k1'})}.{part(claims)}."


def signed_by_the_public_key(issuer: Issuer) -> str:
    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + 300}
    text = f"{part({'alg': 'HS256', 'kid': 'k1'})}.{part(claims)}"
    digest = hmac.new(public_pem(issuer), text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def signed(issuer: Issuer, claims: bytes) -> str:
    return jws.serialize_compact({"alg": "RS256", "kid": "k1"}, claims, issuer.keys["k1"])


def with_extensions(names: Any) -> str:
    return f"{part({'alg': 'RS256', 'kid': 'k1', 'crit': names})}.{part({'sub': 'ada'})}.x"


def with_half_a_character(issuer: Issuer) -> str:
    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "ada\ud800", "exp": time.time() + 300}
    return signed(issuer, json.dumps(claims).encode())


def with_other_claims(issuer: Issuer) -> str:
    head, _, signature = issuer.token("eve").split(".")
    return f"{head}.{issuer.token('ada').split('.')[1]}.{signature}"


BAD = {
    "another issuer": (lambda i: i.token(iss="https://evil.example"), "of another issuer"),
    "no issuer": (lambda i: i.token(iss=None), "lacks one of the claims"),
    "expired": (lambda i: i.token(lasts_s=-61), "has expired"),
    "no end": (lambda i: i.token(exp=None), "lacks one of the claims"),
    "an end that is no time": (lambda i: i.token(exp="never"), "not of the kind"),
    "another audience": (lambda i: i.token(aud="billing"), "another audience"),
    "no audience": (lambda i: i.token(aud=None), "lacks one of the claims"),
    "a clock ahead": (lambda i: i.token(iat=time.time() + 600), "Compare the clocks"),
    "valid later": (lambda i: i.token(nbf=time.time() + 600), "Compare the clocks"),
    "a clock behind": (lambda i: i.token(exp=time.time() - 600), "Compare the clocks"),
    "alg none": (unsigned, "not signed by an algorithm with public keys"),
    "HS256 by the public key": (signed_by_the_public_key, "not signed by an algorithm"),
    "another's key": (lambda i: i.token(key=RSAKey.generate_key(2048)), "signature is not its issuer's"),
    "an algorithm of another key": (lambda i: i.token(key=RSAKey.generate_key(2048), alg="PS256"), "signature"),
    "changed claims": (with_other_claims, "signature is not its issuer's"),
    "an unknown key": (lambda i: i.token(key=RSAKey.generate_key(2048), kid="k9"), "key that its issuer does not list"),
    "deep claims": (lambda i: signed(i, b'{"sub":' + b"[" * 3000), "no signed JWT"),
    "a name that turns the text round": (lambda i: i.token("\u202eada"), "characters without a shape"),
    "a name that looks like another's": (lambda i: i.token("ad\u00ada"), "characters without a shape"),
    "a name with half a character": (with_half_a_character, "characters without a shape"),
    "no user": (lambda i: i.token(sub=None), "no claim sub"),
    "no JWT": (lambda i: "abc", "no signed JWT"),
    "dots": (lambda i: "..", "no signed JWT"),
    "five parts": (lambda i: "a.b.c.d.e", "no signed JWT"),
    "letters": (lambda i: "é.é.é", "no signed JWT"),
    "quotes": (lambda i: '"\\".x.y', "no signed JWT"),
    "a header that is a list": (lambda i: f"{part([1])}.{part({})}.x", "no signed JWT"),
    "a key id that is a list": (lambda i: f"{part({'alg': 'RS256', 'kid': [1]})}.{part({})}.x", "no signed JWT"),
    "extensions that are none": (lambda i: with_extensions(None), "no signed JWT"),
    "an extension without a name": (lambda i: with_extensions([[]]), "no signed JWT"),
    "claims that are a list": (lambda i: f"{part({'alg': 'RS256', 'kid': 'k1'})}.{part([])}.x", "signature"),
}  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issuer]:
    found = Issuer(tmp_path_factory.mktemp("issuer"))
    found.start()
    yield found
    found.stop()


@pytest.mark.attacks
@pytest.mark.parametrize("case", list(BAD))
def test_a_bad_token_is_refused_with_a_clear_word(serve: ServerMaker, running: Issuer, case: str) -> None:
    rest = serve(worker={
        "rest.oidc.issuer": running.url, "rest.oidc.audience": AUDIENCE, "rest.roles.admin": "oidc:ada",
    })  # fmt: skip
    assert ask(rest, running.token()).status_code == 200
    make, words = BAD[case]
    token = make(running)
    answer = rest("GET", "/connectors", headers={"Authorization": f"Bearer {token}".encode()})
    text = refused(answer, 401)
    assert words in text
    assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="KafkaConnect", error="invalid_token"')
    assert len(token) < 4 or token not in answer.text


@pytest.mark.parametrize("header", ["Bearer", "bearer", "Token x", "Basic YTpi", "Basic", "", "x" * 4000])
def test_a_malformed_header_is_refused(serve: ServerMaker, running: Issuer, header: str) -> None:
    rest = serve(worker={
        "rest.oidc.issuer": running.url, "rest.oidc.audience": AUDIENCE, "rest.roles.admin": "oidc:ada",
    })  # fmt: skip
    answer = rest("GET", "/connectors", headers={"Authorization": header})
    refused(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="KafkaConnect"')


def test_small_differences_of_clocks_do_no_harm(serve: ServerMaker, issuer: Issuer, keys: dict[str, str]) -> None:
    rest = serve(worker=keys)
    assert ask(rest, issuer.token(iat=time.time() + 30, nbf=time.time() + 30)).status_code == 200


@pytest.mark.attacks
def test_a_live_page_ends_with_the_token_it_was_asked_with(
    serve: ServerMaker, issuer: Issuer, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connect.rest.figures.sampler.INTERVAL_S", 0.1)
    rest = serve(worker=keys)
    # A token that is good for a few seconds more, as clocks may differ by a minute.
    headers = {"Authorization": f"Bearer {issuer.token(lasts_s=4 - token_users.LEEWAY_S)}"}
    stops_s = time.monotonic() + 60
    with requests.get(f"{rest.url}/ui/live/overview", headers=headers, stream=True, timeout=60) as answer:
        assert answer.status_code == 200, answer.text
        said = []
        for line in answer.iter_lines(chunk_size=1):
            assert time.monotonic() < stops_s, "the page is live after its token has expired"
            said += [line] if line.startswith((b"event:", b"data:")) else []
    assert said[0] == b"event: live"
    assert said[-2:] == [b"event: gone", b'data: "Your login has ended: load the page again."']


def test_claims_may_be_named_and_lie_deeper(serve: ServerMaker, issuer: Issuer, keys: dict[str, str]) -> None:
    named = {"rest.oidc.user.claim": "preferred_username", "rest.oidc.groups.claim": "realm_access.roles"}
    rest = serve(worker=keys | named)
    token = issuer.token("id-1", preferred_username="ed", realm_access={"roles": ["payments"]})
    assert ask(rest, token, "PUT", "/connectors/payments-1/config", CONFIG).status_code == 201
    refused(ask(rest, issuer.token("ada"), path="/"), 401)


def test_a_key_on_another_curve_is_taken(serve: ServerMaker, issuer: Issuer, keys: dict[str, str]) -> None:
    issuer.rotate("e1", kind="EC")
    assert ask(serve(worker=keys), issuer.token()).status_code == 200


def test_known_keys_go_on_while_the_issuer_is_away(serve: ServerMaker, issuer: Issuer, keys: dict[str, str]) -> None:
    rest = serve(worker=keys)
    first = issuer.token()
    assert ask(rest, first).status_code == 200
    issuer.stop()
    assert ask(rest, first).status_code == 200
    assert ask(rest, issuer.token("ada", jti="another")).status_code == 200
    issuer.rotate("k2")
    refused(ask(rest, issuer.token()), 401, "The token is signed by a key that its issuer does not list.")


def test_an_issuer_that_was_never_reached_is_named(serve: ServerMaker, issuer: Issuer, keys: dict[str, str]) -> None:
    issuer.stop()
    text = refused(ask(serve(worker=keys), issuer.token()), 503)
    assert f"the keys of {issuer.url} could not be read" in text


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"issuer": "https://evil.example"}, "names another issuer"),
        ({"jwks_uri": "http://evil.example/keys"}, "not https"),
        ({"jwks_uri": ""}, "jwks_uri cannot be used"),
    ],
)
def test_an_issuer_that_answers_wrong_is_not_believed(issuer: Issuer, about: dict[str, str], words: str) -> None:
    issuer.say(**{"issuer": issuer.url} | about)

    async def run() -> None:
        await IssuerKeys(issuer.url).key("k1")

    with pytest.raises(IssuerAwayError, match=words):
        asyncio.run(run())


def test_new_keys_are_found_and_old_ones_forgotten(issuer: Issuer, keys: dict[str, str]) -> None:
    now = [1000.0]

    async def run() -> None:
        users = TokenUsers(worker_config(**keys), issuer.url, Grants(worker_config(**keys)), lambda: now[0])
        old = issuer.token()
        assert (await users.identity(old)).name == "oidc:ada"
        issuer.rotate("k2")
        new = issuer.token()
        for _ in range(20):
            with pytest.raises(LoginError, match="does not list"):
                await users.identity(new)
        assert issuer.asked() == 1, "the issuer is asked again after a while only"
        now[0] += AGAIN_S
        assert (await users.identity(new)).name == "oidc:ada"
        with pytest.raises(LoginError, match="does not list"):
            await users.identity(old)
        assert issuer.asked() == 2

    asyncio.run(run())


def test_an_issuer_that_changes_its_keys_while_it_is_away_is_heard_when_it_is_back(
    issuer: Issuer, keys: dict[str, str]
) -> None:
    now = [1000.0]

    async def run() -> None:
        users = TokenUsers(worker_config(**keys), issuer.url, Grants(worker_config(**keys)), lambda: now[0])
        old = issuer.token()
        assert (await users.identity(old)).name == "oidc:ada"
        issuer.stop()
        issuer.rotate("k2")
        new = issuer.token()
        now[0] += AGAIN_S
        for _ in range(2):
            with pytest.raises(IssuerAwayError, match=r"could not be asked for its keys, as .*Tokens of known keys"):
                await users.identity(new)
            assert (await users.identity(old)).name == "oidc:ada"
        issuer.start()
        now[0] += AGAIN_S
        assert (await users.identity(new)).name == "oidc:ada"
        with pytest.raises(LoginError, match="does not list"):
            await users.identity(old)

    asyncio.run(run())


def test_a_key_that_was_withdrawn_counts_no_more(issuer: Issuer, keys: dict[str, str]) -> None:
    now = [1000.0]

    async def run() -> None:
        users = TokenUsers(worker_config(**keys), issuer.url, Grants(worker_config(**keys)), lambda: now[0])
        token = issuer.token()
        await users.identity(token)
        issuer.rotate("k2")
        now[0] += OLD_S + 1
        async with asyncio.timeout(60):
            while True:
                try:
                    await users.identity(token)
                except LoginError:
                    break
                await asyncio.sleep(0)  # the keys are asked for beside this

    asyncio.run(run())


def test_a_token_is_verified_once_and_never_after_its_end(
    issuer: Issuer, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[str] = []
    real = token_users.decode

    def counted(token: str, *others: Any) -> Any:
        verified.append(token)
        return real(token, *others)

    monkeypatch.setattr(token_users, "decode", counted)

    async def run() -> None:
        users = TokenUsers(worker_config(**keys), issuer.url, Grants(worker_config(**keys)))
        token = issuer.token()
        for _ in range(50):
            await users.identity(token)
        assert len(verified) == 1
        later = time.time() + 1000
        monkeypatch.setattr("time.time", lambda: later)
        with pytest.raises(LoginError, match="expired"):
            await users.identity(token)

    asyncio.run(run())


@pytest.mark.thorough
def test_a_token_costs_less_than_a_millisecond_of_cpu(issuer: Issuer, keys: dict[str, str]) -> None:
    async def cost_s() -> float:
        users = TokenUsers(worker_config(**keys), issuer.url, Grants(worker_config(**keys)))
        tokens = [issuer.token(jti=str(number)) for number in range(301)]
        await users.identity(tokens.pop())  # asks for the issuer's keys
        started_s = time.thread_time()
        for token in tokens:
            await users.identity(token)
        return (time.thread_time() - started_s) / len(tokens)

    assert asyncio.run(cost_s()) < 0.001


def test_the_library_that_is_missing_is_named(keys: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "connect.rest.access.token_users", None)
    with pytest.raises(ConfigError, match=r"connect-for-kafka\[oidc\]"):
        Login(worker_config(**keys))


def test_keys_that_sign_nothing_are_left_out() -> None:
    rsa = RSAKey.generate_key(2048, {"kid": "a"}).as_dict(private=False)
    assert issuer_keys._public_key(rsa) is not None
    others: list[Any] = [{**rsa, "use": "enc"}, {"kty": "oct", "k": "c2VjcmV0"}, {"kty": "RSA"}, {"kty": "X"}, []]
    for other in (*others, {**rsa, "kid": []}):
        assert issuer_keys._public_key(other) is None
