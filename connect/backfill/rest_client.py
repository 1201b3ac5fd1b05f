"""The few REST calls that a backfill and the demo make, as a user's script would. Answers are plain JSON."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from connect.api.errors import ConnectError

TIMEOUT_S: Final = 30.0


class RestClient:
    """Talks to one worker. ConnectError with the worker's own words when it refuses, or does not answer."""

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

    def state(self, connector: str) -> str | None:
        """A connector's state; None: there is none of that name."""
        found = self.statuses().get(connector)
        return None if found is None else str(found["connector"]["state"])

    def running_tasks(self, connector: str) -> int:
        """How many tasks it has."""
        return len(self.statuses()[connector]["tasks"])

    def resume(self, connector: str) -> None:
        """Let it run."""
        self._call("PUT", f"/connectors/{quote(connector, safe='')}/resume", None)

    def statuses(self) -> dict[str, Any]:
        """The status of every connector by name."""
        answer = self._call("GET", "/connectors?expand=status", None)
        return {name: parts["status"] for name, parts in answer.items() if "status" in parts}

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - the address is a worker's, named by its user
            self.url + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
                text = response.read()
        except urllib.error.HTTPError as error:
            raise ConnectError(f"{method} {self.url}{path} answered {error.code}: {error.read().decode()}") from error
        except urllib.error.URLError as error:
            raise ConnectError(
                f"No worker answers at {self.url}: {error.reason}.", fix="Name a worker of the cluster by --rest."
            ) from error
        return json.loads(text) if text else None
