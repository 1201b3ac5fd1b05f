"""Runs Azurite, Microsoft's emulator of Azure's blobs, from the npm registry; it is kept in the cache of fetched
programs.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import ClassVar, Final

import requests
from npm_program import npm_program
from obstore.store import AzureStore

from connect.tools.services.process.ports import LOOPBACK, accepts_connections
from connect.tools.services.process.supervised import SupervisedService

_VERSION: Final = "3.37.0"
_API: Final = "2021-12-02"
_KEY: Final = b64encode(b"a key of this test's own account").decode()


@dataclass(frozen=True)
class AzuriteEndpoint:
    """Holds the address and the account for clients."""

    url: str
    account: str = "tests"
    key: str = _KEY

    def store(self, container: str) -> AzureStore:
        """Return a client that shares nothing with the sink."""
        return AzureStore(
            container, account_name=self.account, account_key=self.key, endpoint=self.url,
            client_options={"allow_http": True},
        )  # fmt: skip


class AzuriteService(SupervisedService[AzuriteEndpoint]):
    """Keeps one account, whose blobs are files."""

    name: ClassVar[str] = "azurite"
    port_names: ClassVar[tuple[str, ...]] = ("blob",)

    def prepare(self) -> None:
        _program()

    def create_container(self, name: str) -> None:
        """Create a container by a request that is signed with the account's key, as obstore makes no containers."""
        own, date = self.endpoint, formatdate(usegmt=True)
        asked = f"/{own.account}/{own.account}/{name}\nrestype:container"
        text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{_API}\n{asked}"
        signature = b64encode(hmac.digest(b64decode(own.key), text.encode(), "sha256")).decode()
        answer = requests.put(
            f"{own.url}/{name}?restype=container",
            headers={
                "x-ms-date": date, "x-ms-version": _API, "Authorization": f"SharedKey {own.account}:{signature}",
            },
            timeout=10,
        )  # fmt: skip
        answer.raise_for_status()

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        return [
            "node", str(_program()), "--blobHost", LOOPBACK, "--blobPort", str(ports["blob"]),
            "--location", str(folder), "--silent", "--skipApiVersionCheck", "--disableTelemetry",
        ]  # fmt: skip

    def _environ(self) -> Mapping[str, str]:
        return {"AZURITE_ACCOUNTS": f"{AzuriteEndpoint.account}:{_KEY}"}

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> AzuriteEndpoint:
        del folder
        return AzuriteEndpoint(f"http://{LOOPBACK}:{ports['blob']}/{AzuriteEndpoint.account}")

    def _answers(self, endpoint: AzuriteEndpoint, timeout_s: float) -> bool:
        del endpoint, timeout_s
        return accepts_connections(self._ports["blob"])


def _program() -> Path:
    return npm_program("azurite", _VERSION, "azurite/dist/src/blob/main.js")
