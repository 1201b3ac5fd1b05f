"""Sends a request to the leader: Kafka Connect's `?forward=` protocol.

The first worker (no `forward`) forwards with `forward=true`, the second with `forward=false`; a third does not forward.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout, hdrs, web
from yarl import URL

from connect.api.errors import ConnectError
from connect.cluster.model.request_errors import NotLeaderError
from connect.rest.errors.http_error import HttpError
from connect.rest.server.author import passed_on, signing
from connect.rest.server.context import context_of, remaining_s
from connect.rest.server.request_body import body_of
from connect.rest.server.routing import conflict, flag
from connect.rest.server.waiting import timed_out

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
_LOOK_S: Final = 0.1
_CATCH_UP_S: Final = 5.0
_LEADER_ANSWERS_S: Final = 2.0
_SUCCESS: Final = range(200, 400)
"""These statuses mean success; a form that was carried out is answered by a redirect."""
BY_LEADER: Final = web.RequestKey("by_leader", bool)
"""It is set if the leader has answered the request."""
CLIENT: Final = web.AppKey("forward_client", ClientSession)
PASSED_ON: Final = (hdrs.AUTHORIZATION, hdrs.CONTENT_TYPE, hdrs.ACCEPT, hdrs.USER_AGENT)
PASSED_BACK: Final = (hdrs.CONTENT_TYPE, hdrs.LOCATION, hdrs.ALLOW)
_logger = logging.getLogger(__name__)
NO_LEADER: Final = (
    "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
)


async def forwarding(request: web.Request, answer: Answer) -> web.StreamResponse:
    """Answer here, or forward the request if only the leader may answer it.

    While nobody leads, or while the workers do not agree on the leader, the first worker waits and asks again, as
    requests of Kafka Connect wait for the end of a rebalance. That is safe, because nothing was done before.
    """
    wait_s = min(context_of(request).leader_wait_s, remaining_s(request))
    wait_ends_s = time.monotonic() + wait_s
    while True:
        try:
            return await answer(request)
        except NotLeaderError as error:
            if "forward" in request.query and not flag(request, "forward"):
                raise conflict() from error
            if error.leader_url is not None:
                forwarded = await _by_leader(request, error.leader_url)
                first = "forward" not in request.query
                if not (first and _is_conflict(forwarded)) or time.monotonic() >= wait_ends_s:
                    return forwarded
            elif time.monotonic() >= wait_ends_s:
                raise HttpError(409, NO_LEADER) from error
        await asyncio.sleep(min(_LOOK_S, max(0.0, wait_ends_s - time.monotonic())))


def _is_conflict(forwarded: web.Response) -> bool:
    """Return True if this is the answer of a worker that does not lead, although it was believed to."""
    if forwarded.status != HTTPStatus.CONFLICT or not isinstance(forwarded.body, bytes):
        return False
    return conflict().message.encode() in forwarded.body


async def _by_leader(request: web.Request, leader_url: str) -> web.Response:
    query = request.rel_url.query.copy()
    query["forward"] = "false" if "forward" in query else "true"
    base = leader_url.rstrip("/")
    url = URL(base + request.rel_url.raw_path, encoded=True).with_query(query)
    body = await body_of(request)
    headers: dict[str, str] = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
    sign = signing(lambda: passed_on(request, url, urlsplit(leader_url).netloc, body))
    # The leader's own time ends a little earlier, and its answer names the stage it is in.
    timeout = ClientTimeout(total=remaining_s(request) + _LEADER_ANSWERS_S)
    started_ms = time.time_ns() // 1_000_000
    try:
        async with request.app[CLIENT].request(
            request.method,
            url,
            data=body or None,
            headers=headers,
            middlewares=(sign,),
            skip_auto_headers=(hdrs.CONTENT_TYPE,),
            timeout=timeout,
            allow_redirects=False,
            server_hostname=context_of(request).worker.rest_advertised_certificate_name,
        ) as response:
            said = await response.read()
            request[BY_LEADER] = True
    except TimeoutError:
        raise timed_out(request, f"waiting for the answer of the leader at {leader_url}", started_ms) from None
    except ClientError as error:
        why = str(error) or type(error).__name__
        raise HttpError(500, f"IO Error trying to forward REST request: {why}") from error
    if response.status in _SUCCESS:
        await _catch_up(request)
    answer = web.Response(status=response.status, body=said or None)
    for name in PASSED_BACK:
        if name in response.headers:
            answer.headers[name] = response.headers[name]
    if hdrs.LOCATION in answer.headers:
        here = f"{request.scheme}://{request.host}"
        answer.headers[hdrs.LOCATION] = answer.headers[hdrs.LOCATION].replace(base, here, 1)
    return answer


async def _catch_up(request: web.Request) -> None:
    """Catch up with the leader.

    A client that writes through this worker can then read it here. If that fails, the change is made all the same.
    """
    caught_up = asyncio.wrap_future(context_of(request).operations.worker.catch_up())
    try:
        await asyncio.wait_for(caught_up, min(_CATCH_UP_S, remaining_s(request)))
    except (ConnectError, TimeoutError) as error:
        _logger.warning("behind_the_leader", extra={"path": request.path, "error": str(error) or type(error).__name__})
