"""Asks an issuer for its keys that answers too slowly, too much, or in a form that nobody asked for."""

from __future__ import annotations

import asyncio
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from joserfc import jwt
from joserfc.jwk import ECKey
from oidc_issuer import AUDIENCE
from sample_plugins import worker_config

from connect.rest.access import issuer_keys
from connect.rest.access.identity import Grants
from connect.rest.access.issuer_keys import OLD_S, IssuerKeys
from connect.rest.access.login_errors import IssuerAwayError
from connect.rest.access.token_users import TokenUsers

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
BOMB_BYTES = 20_000_000
KEY = ECKey.generate_key("P-256", {"kid": "k1", "use": "sig"})


@asynccontextmanager
async def serving(listed: Answer) -> AsyncIterator[str]:
    """Yield the address of an issuer that answers `listed` where its keys should be."""

    async def about(request: web.Request) -> web.Response:
        return web.json_response({"issuer": url, "jwks_uri": f"{url}/keys"})

    app = web.Application()
    app.add_routes([web.get("/.well-known/openid-configuration", about), web.get("/keys", listed)])
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield url
    finally:
        await runner.cleanup()


async def bomb(request: web.Request) -> web.Response:
    """Answer 20 MB of spaces in 20 KB."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    parts = [packer.compress(b" " * 1_000_000) for _ in range(BOMB_BYTES // 1_000_000)]
    body = b"".join([*parts, packer.flush()])
    return web.Response(body=body, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})


async def endless(request: web.Request) -> web.StreamResponse:
    """Answer without an end, as fast as anybody reads."""
    answer = web.StreamResponse()
    await answer.prepare(request)
    while True:
        await answer.write(b" " * 65_536)


async def trickling(request: web.Request) -> web.StreamResponse:
    """Answer a byte whenever the reader could give up, for ever."""
    never = asyncio.get_running_loop().create_future()
    answer = web.StreamResponse()
    await answer.prepare(request)
    while True:
        await answer.write(b" ")
        await asyncio.wait([never], timeout=0.02)


@pytest.mark.parametrize(
    ("listed", "words"),
    [(bomb, "longer than 256 KiB"), (endless, "longer than 256 KiB"), (trickling, "did not answer within")],
    ids=["a bomb", "no end", "a byte now and then"],
)
def test_an_issuer_that_answers_too_much_or_too_slowly_gives_no_key(
    monkeypatch: pytest.MonkeyPatch, listed: Answer, words: str
) -> None:
    monkeypatch.setattr(issuer_keys, "_TIMEOUT_S", 5.0 if listed is not trickling else 0.5)

    async def run() -> int:
        async with serving(listed) as url:
            tracemalloc.start()
            try:
                with pytest.raises(IssuerAwayError, match=words):
                    await IssuerKeys(url).key("k1")
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    assert asyncio.run(run()) < BOMB_BYTES / 4


def test_known_tokens_are_taken_while_the_issuer_does_not_end_its_answer() -> None:
    now, hangs = [1000.0], asyncio.Event()

    async def listed(request: web.Request) -> web.StreamResponse:
        if now[0] == 1000.0:
            return web.json_response({"keys": [KEY.as_dict(private=False)]})
        hangs.set()
        return await trickling(request)

    async def run() -> None:
        async with serving(listed) as url:
            worker = worker_config(
                **{"rest.oidc.issuer": url, "rest.oidc.audience": AUDIENCE, "rest.roles.viewer": "*"}
            )
            users = TokenUsers(worker, url, Grants(worker), lambda: now[0])
            claims = {"iss": url, "aud": AUDIENCE, "sub": "ada", "exp": 2**40}
            token = jwt.encode({"alg": "ES256", "kid": "k1"}, claims, KEY, algorithms=["ES256"])
            await users.identity(token)
            now[0] += OLD_S + 1
            await users.identity(token)  # This one begins to read the keys again.
            await hangs.wait()
            for number in range(100):
                other = jwt.encode(
                    {"alg": "ES256", "kid": "k1"}, {**claims, "jti": str(number)}, KEY, algorithms=["ES256"]
                )
                async with asyncio.timeout(1):
                    assert (await users.identity(other)).name == "oidc:ada"

    asyncio.run(run())
