"""Begins logins at an issuer that answers what no issuer should: each ends with a sentence, and nothing of it steers
the person.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from connect.api.errors import ConnectError
from connect.client.logins import Invitation, Issuer, Login


class HostileIssuer(ThreadingHTTPServer):
    """Answers each path as RFC 8628 has it, but for what a test sets."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.answers: dict[str, dict[str, Any]] = {
            "/.well-known/openid-configuration": {
                "issuer": self.url, "token_endpoint": f"{self.url}/token",
                "device_authorization_endpoint": f"{self.url}/device",
            },
            "/device": {
                "device_code": "d", "user_code": "ABCD", "verification_uri": "https://good.example", "interval": 0.01,
                "expires_in": 60,
            },
            "/token": {"access_token": "s3cr3t-t0k3n", "expires_in": 100},
        }  # fmt: skip


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, HostileIssuer)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps(self.server.answers[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *args: object) -> None:
        del args


@pytest.fixture
def issuer() -> Iterator[HostileIssuer]:
    with HostileIssuer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def logged_in(issuer: HostileIssuer, path: str, answer: Mapping[str, Any]) -> tuple[Login, Invitation]:
    issuer.answers[path] |= answer
    invited: list[Invitation] = []
    login = Issuer(Login(issuer.url, "c")).log_in(invited.append)
    return login, invited[0]


@pytest.mark.parametrize(
    ("complete", "shown"),
    [
        ("https://good.example?user_code=ABCD", "https://good.example?user_code=ABCD"),
        ("https://good.example/device", "https://good.example/device"),
        ("https://good.example@evil.example/", ""),
        ("https://good.example.evil.example/", ""),
        ("https://good.example:1/", ""),
        ("https://good.example/\nOpen https://evil.example", ""),
        ({"a": 1}, ""),
    ],
)
def test_an_address_with_the_code_is_shown_of_the_same_server_alone(
    issuer: HostileIssuer, complete: object, shown: str
) -> None:
    assert logged_in(issuer, "/device", {"verification_uri_complete": complete})[1].complete_url == shown


@pytest.mark.parametrize(
    "answer",
    [
        {"user_code": "A\nOpen https://evil.example"}, {"user_code": {"a": 1}}, {"user_code": None},
        {"verification_uri": "https://good.example/\nOpen https://evil.example"}, {"verification_uri": 7},
    ],
)  # fmt: skip
def test_an_invitation_that_cannot_be_shown_in_a_line_is_refused(
    issuer: HostileIssuer, answer: Mapping[str, Any]
) -> None:
    with pytest.raises(ConnectError, match=r"no invitation of RFC 8628|cannot be used"):
        logged_in(issuer, "/device", answer)


@pytest.mark.parametrize(
    ("lasts", "shown_s"), [(10**400, 86_400), ("soon", 300), ("nan", 300), ("inf", 86_400), ([1], 300), (-1, 300)]
)
def test_a_time_that_is_no_number_counts_as_none(issuer: HostileIssuer, lasts: object, shown_s: float) -> None:
    assert logged_in(issuer, "/device", {"expires_in": lasts})[1].expires_in_s == shown_s
    login, _ = logged_in(issuer, "/token", {"expires_in": lasts})
    assert (login.expires_at_s is None) == (shown_s == 300)


@pytest.mark.parametrize("token", ["s3cr3t\r\nX-Evil: 1", "s3cr3t ä", "s3cr3t\x00", "", {"a": 1}, None])
def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(issuer: HostileIssuer, token: object) -> None:
    with pytest.raises(ConnectError, match="without an access_token that a header can hold") as caught:
        logged_in(issuer, "/token", {"access_token": token})
    assert "s3cr3t" not in str(caught.value)
