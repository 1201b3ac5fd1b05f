"""Asks a service on loopback over HTTP if it answers yet."""

from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

from connect.lib.http_client import Answer, HttpClient, NoAnswerError
from connect.tools.services.process.ports import accepts_connections


def answer_of(method: str, url: str, timeout_s: float, body: bytes | None = None) -> Answer | None:
    """Return the answer of a service on loopback; None if the service is still starting."""
    if not accepts_connections(urlsplit(url).port or 0):
        return None
    with HttpClient(timeout_s=timeout_s) as client:
        try:
            return client.ask(method, url, body=body)
        except NoAnswerError:  # It is still starting.
            return None


def answers_ok(url: str, path: str, timeout_s: float) -> bool:
    """Return True if the server at `url` answers GET `path` with 200; False while the service is still starting."""
    answer = answer_of("GET", urljoin(url, path), timeout_s)
    return answer is not None and answer.status == HTTPStatus.OK
