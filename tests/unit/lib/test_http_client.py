"""Checks the HTTP client against servers that send too much, too slowly, or elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from connect.lib.http_client import HttpClient, NoAnswerError, environment_proxy

Serve = Callable[[type[BaseHTTPRequestHandler]], str]


class Quiet(BaseHTTPRequestHandler):
    """Logs nothing."""

    def log_message(self, *_: object) -> None:
        pass

    def head(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()


class Echo(Quiet):
    """Says who asks."""

    def do_GET(self) -> None:
        body = self.headers.get("Authorization", "nobody").encode()
        self.head(200, Content_Length=str(len(body)))
        self.wfile.write(body)


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(handler: type[BaseHTTPRequestHandler]) -> str:
            server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), handler))
            server.daemon_threads, server.block_on_close = True, False
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}"

        yield start


def redirecting(to: str) -> type[Quiet]:
    class Redirect(Quiet):
        def do_GET(self) -> None:
            self.head(307, Location=to, Content_Length="0")

    return Redirect


def test_an_answer_that_is_too_long_is_given_up(serve: Serve):
    class Endless(Quiet):
        def do_GET(self) -> None:
            self.head(200)
            with suppress(ConnectionError):
                while True:
                    self.wfile.write(b"x" * 65536)

    given_up = pytest.raises(NoAnswerError, match="longer than 1 MiB")
    with HttpClient(timeout_s=60, limit_bytes=1 << 20) as client, given_up as failure:
        client.ask("GET", serve(Endless))
    assert failure.value.kind == "UnboundedAnswerError"


def test_an_answer_that_comes_byte_by_byte_is_given_up(serve: Serve):
    given_up = threading.Event()

    class Dripping(Quiet):
        def do_GET(self) -> None:
            self.head(200, Content_Length="1000000")
            with suppress(ConnectionError):
                while not given_up.wait(0.05):
                    self.wfile.write(b"x")

    with HttpClient(timeout_s=1) as client, pytest.raises(NoAnswerError, match="took longer than 1 s"):
        client.ask("GET", serve(Dripping))
    given_up.set()


def test_a_redirect_is_an_answer_unless_it_is_followed(serve: Serve):
    url = serve(redirecting(serve(Echo)))
    with HttpClient(timeout_s=60) as client:
        answer = client.ask("GET", url)
        assert (answer.status, answer.reason, "Location" in answer.headers) == (307, "Temporary Redirect", True)
        assert client.ask("GET", url, redirects=1).data == b"nobody"


def test_another_host_hears_no_credentials_and_the_same_one_does(serve: Serve):
    class Moved(Echo):
        def do_GET(self) -> None:
            if self.path == "/old":
                self.head(302, Location="/new", Content_Length="0")
            else:
                super().do_GET()

    own, other = serve(Moved), serve(redirecting(serve(Echo)))
    with HttpClient(timeout_s=60) as client:
        login = {"Authorization": "Basic bWU6aXQ="}
        assert client.ask("GET", f"{own}/old", headers=login, redirects=1).data == b"Basic bWU6aXQ="
        assert client.ask("GET", other, headers=login, redirects=1).data == b"nobody"


def test_redirects_end(serve: Serve):
    class Circle(Quiet):
        def do_GET(self) -> None:
            self.head(302, Location="/again", Content_Length="0")

    with HttpClient(timeout_s=60) as client, pytest.raises(NoAnswerError, match="too many redirects"):
        client.ask("GET", serve(Circle), redirects=3)


def test_no_error_tells_the_address_that_was_asked():
    with HttpClient(timeout_s=60) as client, pytest.raises(NoAnswerError, match="Connection refused") as failure:
        client.ask("GET", "http://127.0.0.1:1/?delegation=s3cr3t")
    assert failure.value.kind == "NewConnectionError"
    assert "s3cr3t" not in f"{failure.value!r} {failure.value.__cause__!r}"


class Silent(Quiet):
    """Hangs up without a word."""

    def do_GET(self) -> None:
        self.close_connection = True


class Stranger(Quiet):
    """Speaks another protocol."""

    def do_GET(self) -> None:
        self.wfile.write(b"SSH-2.0-OpenSSH\r\n")


class Short(Quiet):
    """Ends before the length that it told."""

    def do_GET(self) -> None:
        self.head(200, Content_Length="10")
        self.wfile.write(b"ab")


NOBODY = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("peer", "proxy", "words"),
    [
        (NOBODY, None, "Connection refused"),
        ("http://nowhere.invalid", None, "Name or service not known"),
        (NOBODY, NOBODY, "Unable to connect to proxy: Connection refused"),
        (Silent, None, "Connection aborted: Remote end closed connection without response"),
        (Stranger, None, "Connection aborted: what answers does not speak HTTP, it says 'SSH-2.0-OpenSSH'"),
        (Short, None, "Connection aborted: the answer ended 8 bytes too early"),
    ],
)
def test_a_failure_is_told_in_words_and_not_as_a_librarys_object(
    serve: Serve, peer: str | type[Quiet], proxy: str | None, words: str
):
    url = peer if isinstance(peer, str) else serve(peer)
    with HttpClient(timeout_s=60, proxy=proxy) as client, pytest.raises(NoAnswerError) as failure:
        client.ask("GET", url)
    assert str(failure.value) == words


def test_a_server_without_tls_is_told_in_words(serve: Serve):
    url = serve(Echo).replace("http:", "https:")
    with HttpClient(timeout_s=60) as client, pytest.raises(NoAnswerError, match="does not speak TLS") as failure:
        client.ask("GET", url)
    assert failure.value.kind == "SSLError"


def test_the_environment_names_a_proxy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "worker.local")
    assert environment_proxy("http://other:8083") == "http://proxy:3128"
    assert environment_proxy("http://worker.local:8083") is None
