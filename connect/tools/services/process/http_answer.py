"""Tells if a service on loopback answers over HTTP yet."""

from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

from connect.lib.http_client import Answer, HttpClient, NoAnswerError
from connect.tools.services.process.ports import accepts_connections


def answer_of(method: str, url: str, timeout_s: float, body: bytes | None = None) -> Answer | None:
    """Return the answer of a service on loopback; None while it still starts."""
    if not accepts_connections(urlsplit(url).port or 0):
        return None
    with HttpClient(timeout_s=timeout_s) as client:
        try:
            return client.ask(method, url, body=body)
        except NoAnswerError:  # still starting
            return None


def answers_ok(url: str, path: str, timeout_s: float) -> bool:
    """Return True if GET `path` of the server at `url` is answered with 200; False while the service still starts."""
    answer = answer_of("GET", urljoin(url, path), timeout_s)
    return answer is not None and answer.status == HTTPStatus.OK
