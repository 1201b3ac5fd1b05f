"""Tells if a service on loopback answers over HTTP yet."""

import http.client
from urllib.parse import urlsplit

from connect.tools.services.process.ports import accepts_connections


def answers_ok(url: str, path: str, timeout_s: float) -> bool:
    """Tell if GET `path` of the server at `url` is answered with 200. False while the service still starts."""
    address = urlsplit(url)
    if not accepts_connections(address.port or 0):
        return False
    connection = http.client.HTTPConnection(address.netloc, timeout=timeout_s)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):  # still starting
        return False
    finally:
        connection.close()
