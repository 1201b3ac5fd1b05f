"""The few REST calls the demo makes, as a user's script would make them. Answers are plain JSON."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from connect.api.errors import ConnectError

TIMEOUT_S: Final = 30.0


class RestClient:
    """Talks to one worker on loopback."""

    def __init__(self, url: str) -> None:
        self.url = url

    def healthy(self) -> bool:
        """The worker has started and takes requests."""
        try:
            self._call("GET", "/health", None)
        except (OSError, ConnectError):
            return False
        return True

    def create(self, connector: Mapping[str, Any]) -> None:
        """POST a connector. ConnectError with the worker's own words when it is refused."""
        self._call("POST", "/connectors", connector)

    def statuses(self) -> dict[str, Any]:
        """The status of every connector by name."""
        answer = self._call("GET", "/connectors?expand=status", None)
        return {name: parts["status"] for name, parts in answer.items() if "status" in parts}

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - the address is our own worker's
            self.url + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
                text = response.read()
        except urllib.error.HTTPError as error:
            raise ConnectError(f"{method} {self.url}{path} answered {error.code}: {error.read().decode()}") from error
        return json.loads(text) if text else None
