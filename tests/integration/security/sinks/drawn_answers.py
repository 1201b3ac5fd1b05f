"""Draws answers of hostile HTTP servers part by part: status, headers, body, and how its bytes come."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hostile_http import ENDLESS, Answer, Handler
from hostile_texts import ANSI, MIB

STATUSES = (200, 200, 200, 201, 204, 206, 226, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 407, 409,
            413, 417, 429, 500, 503, 599, 999)  # fmt: skip
REDIRECTS = frozenset({301, 302, 303, 307, 308})
WAITS = ("0", "-1", "99999999999", "1e999", "NaN", "x", "Fri, 31 Dec 9999 23:59:59 GMT", "\u00b2")
FRAMES = ("whole", "whole", "whole", "no length", "cut", "longer", "chunked", "chunks cut", "chunk of 2^64", "closed",
          "two lengths", "negative length", "no HTTP", *ENDLESS)  # fmt: skip


@dataclass(frozen=True)
class Lie:
    """Holds one answer; `told` describes it in a test's error."""

    told: str
    status: int
    answer: Answer


def drawn_lie(draw: random.Random, bodies: Callable[[Handler, random.Random], Any], elsewhere: str) -> Lie:
    """Draw an answer. Its body is one of the protocol's, sometimes spoiled, and it may lead elsewhere."""
    status, frame, seed = draw.choice(STATUSES), draw.choice(FRAMES), draw.random()
    headers = _headers(draw, elsewhere)
    if status in REDIRECTS and draw.random() < 0.7:  # the answer is whole, as otherwise nobody follows the redirect
        frame, headers = "whole", [("Location", elsewhere)]
    reason = draw.choice(["OK", "", ANSI, "x" * 60_000])
    rubbish = draw.choice(
        [None, None, None, b"", b"\xff" * 100, b"[" * 200_000, b"null", b"9" * 100_000, ANSI.encode()]
    )

    def answer(to: Handler) -> None:
        if frame in ENDLESS:
            ENDLESS[frame](to)
            return
        body = rubbish if rubbish is not None else _bytes_of(bodies(to, random.Random(seed)))
        _send(to, status, reason, headers, body, frame)

    told = f"status {status}, {frame}, headers {headers}, reason {reason[:20]!r}, body {rubbish and rubbish[:20]!r}"
    return Lie(told, status, answer)


def _headers(draw: random.Random, elsewhere: str) -> list[tuple[str, str]]:
    all_of: list[tuple[str, str]] = [
        ("Location", elsewhere), ("Location", "file:///etc/passwd"), ("Location", "//x\\y"),
        ("Location", "http://[::1"),
        ("Location", "http://\x1b[31m/"), ("Refresh", f"0; url={elsewhere}"), ("Retry-After", draw.choice(WAITS)),
        ("Set-Cookie", "a=b; Domain=com"),
        ("Content-Type", draw.choice(["text/html; charset=idna", "x", "", "a/b; charset=rot13"])),
        ("Content-Encoding", draw.choice(["gzip", "br", "zstd", "deflate", "gzip, gzip, gzip", "x", ANSI])),
        ("WWW-Authenticate", 'Digest realm="x", nonce="y", qop="auth"'), ("WWW-Authenticate", "Negotiate"),
        ("Proxy-Authenticate", "Basic realm=x"), ("Connection", draw.choice(["upgrade", "close", "keep-alive, x"])),
        ("Alt-Svc", f'h2="{elsewhere[7:]}"'), ("X-Long", "y" * draw.choice([10, 60_000, MIB])), ("X-Bytes", ANSI),
        ("Transfer-Encoding", draw.choice(["gzip", "chunked, chunked", "x"])), ("Warning", "299 - " + '"x",' * 20_000),
    ]  # fmt: skip
    found = draw.sample(all_of, draw.randrange(4))
    return found * 150 if found and draw.random() < 0.05 else found


def _bytes_of(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def _send(to: Handler, status: int, reason: str, headers: list[tuple[str, str]], body: bytes, frame: str) -> None:
    packed = {name: value for name, value in headers if name == "Content-Encoding"}.get("Content-Encoding", "")
    if packed.startswith("gzip"):
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        body = packer.compress(body) + packer.flush()
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in headers)]
    sent = body
    match frame:
        case "no HTTP":
            to.wfile.write(b"SSH-2.0-x\r\n" * 1000)
            to.close_connection = True
            return
        case "closed":
            to.close_connection = True
            return
        case "cut":
            lines.append(f"Content-Length: {len(body) + 100}")
        case "longer":
            lines.append(f"Content-Length: {len(body) // 2}")
        case "two lengths":
            lines += [f"Content-Length: {len(body)}", "Content-Length: 0"]
        case "negative length":
            lines.append("Content-Length: -1")
        case "chunked" | "chunks cut" | "chunk of 2^64":
            lines.append("Transfer-Encoding: chunked")
            size = "1" + "0" * 16 if frame == "chunk of 2^64" else f"{len(body):x}"
            sent = f"{size}\r\n".encode() + body + (b"\r\n0\r\n\r\n" if frame == "chunked" else b"")
        case "whole":
            lines.append(f"Content-Length: {len(body)}")
    to.wfile.write("\r\n".join([*lines, "", ""]).encode("utf-8", "replace") + sent)
    to.close_connection = frame not in {"whole", "chunked"}
