"""Calls Kafka Connect's REST API for commands; docstrings mark the calls that a Java worker does not answer."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlsplit

from connect import __version__
from connect.api.errors import ConnectError
from connect.client.answers import BYTES_MAX, WrongAnswerError, read_answer, read_json
from connect.lib.http_client import HttpClient, NoAnswerError, environment_proxy
from connect.lib.printable import without_known_plugins

TIMEOUT_S: Final = 90.0
"""A worker itself gives up after 90 s, and then says in which stage."""
_REDIRECTS: Final = 5
_NO_SUCH_PATH: Final = "HTTP 404 Not Found"
"""A worker answers so for a path that it does not know."""
Json = Any


class RefusedError(ConnectError):
    """Says that the cluster answered with an error; `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(without_known_plugins(message))
        self.status = status


@dataclass(frozen=True, slots=True)
class Access:
    """Tells where a cluster is, and as whom to call it.

    `ca_file` is a PEM file of authorities to trust beside the system's. `token` comes from an issuer, and replaces user
    and password. `cert_file` is a PEM file of a client certificate and its key.
    """

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    ca_file: str = ""
    token: str = field(default="", repr=False)
    cert_file: str = ""


def check_address(url: str) -> None:
    """Raise ConnectError if this is no http or https URL."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConnectError(f"{url!r} is no address of a worker.", fix="Write it as http://host:8083.")


class _Login:
    """Tells who asks. It may change while a command goes on."""

    def __init__(self, access: Access, access_now: Callable[[], Access] | None) -> None:
        self._access = access
        self._access_now = access_now

    def header(self) -> dict[str, str]:
        """Return the header that says who asks now. ConnectError: the login cannot be renewed."""
        if self._access_now is not None:
            now = self._access_now()
            if now.url == self._access.url:  # else the login is for another address
                self._access = now
        if self._access.token:
            return {"Authorization": f"Bearer {self._access.token}"}
        if not self._access.user:
            return {}
        login = base64.b64encode(f"{self._access.user}:{self._access.password}".encode()).decode()
        return {"Authorization": f"Basic {login}"}


class ConnectClient:
    """Speaks to one cluster, through any of its workers."""

    def __init__(
        self, access: Access, timeout_s: float = TIMEOUT_S, *, access_now: Callable[[], Access] | None = None
    ) -> None:
        """Take the address of a worker. `access_now` is asked before each request for the login that there is then.

        ConnectError: it is no http or https URL, or the file of authorities or of the certificate cannot be read.
        """
        check_address(access.url)
        self._login = _Login(access, access_now)
        self.url = access.url.rstrip("/")
        self._timeout_s = timeout_s
        # Histories and the audit log show the program by which somebody changed something.
        self._headers = {"Content-Type": "application/json", "User-Agent": f"connect/{__version__}"}
        self._tls: ssl.SSLContext | None = None
        if urlsplit(access.url).scheme == "https":
            try:
                self._tls = ssl.create_default_context(cafile=access.ca_file or None)
            except OSError as error:
                raise ConnectError(f"The certificates in {access.ca_file} cannot be read: {error}.") from error
            if access.cert_file:
                _show(self._tls, access.cert_file)

    def server(self) -> Json:
        """Return version and Kafka cluster id."""
        return self.call("GET", "/")

    def connectors(self) -> dict[str, Json]:
        """Return `{name: {"info": …, "status": …}}` of every connector; a part that is not known is left out."""
        found: dict[str, Json] = self.call("GET", "/connectors?expand=info&expand=status")
        return found

    def connector_names(self) -> list[str]:
        """Return every connector, also one that is so new that a Java cluster leaves it out of `connectors`."""
        found: list[str] = self.call("GET", "/connectors")
        return found

    def connector(self, name: str) -> Json:
        """Return the configuration and tasks of a connector. RefusedError 404: there is none of that name."""
        return self.call("GET", _path(name))

    def config(self, name: str) -> dict[str, str]:
        """Return the configuration of a connector. RefusedError 404: there is none of that name."""
        found: dict[str, str] = self.call("GET", _path(name, "config"))
        return found

    def status(self, name: str) -> Json:
        """Return the states of a connector and its tasks. RefusedError 404: there is none of that name."""
        return self.call("GET", _path(name, "status"))

    def save(self, name: str, config: Mapping[str, str]) -> Json:
        """Create or change a connector."""
        return self.call("PUT", _path(name, "config"), dict(config))

    def create(self, name: str, config: Mapping[str, str], initial_state: str | None = None) -> Json:
        """Create a connector. `initial_state`: RUNNING, PAUSED or STOPPED. RefusedError 409: the name is taken."""
        state = {} if initial_state is None else {"initial_state": initial_state}
        return self.call("POST", "/connectors", {"name": name, "config": dict(config), **state})

    def delete(self, name: str) -> None:
        """Delete a connector. RefusedError 404: there is none of that name."""
        self.call("DELETE", _path(name))

    def change_state(self, name: str, verb: str) -> None:
        """Change the state of a connector by `verb`: pause, resume or stop."""
        self.call("PUT", _path(name, verb))

    def restart(self, name: str, *, include_tasks: bool, only_failed: bool) -> None:
        """Restart a connector; `include_tasks` restarts its tasks too, `only_failed` only what has failed."""
        flags = f"includeTasks={str(include_tasks).lower()}&onlyFailed={str(only_failed).lower()}"
        self.call("POST", f"{_path(name, 'restart')}?{flags}")

    def offsets(self, name: str) -> Sequence[Json]:
        """Return pairs of `partition` and `offset`. RefusedError 404: there is no connector of that name."""
        found: Sequence[Json] = self.call("GET", _path(name, "offsets"))["offsets"]
        return found

    def alter_offsets(self, name: str, offsets: Sequence[Mapping[str, Json]]) -> str:
        """Set offsets of a stopped connector; return the cluster's own words."""
        return str(self.call("PATCH", _path(name, "offsets"), {"offsets": list(offsets)})["message"])

    def reset_offsets(self, name: str) -> str:
        """Forget all offsets of a stopped connector; return the cluster's own words."""
        return str(self.call("DELETE", _path(name, "offsets"))["message"])

    def why(self, name: str) -> Sequence[Json]:
        """Return pairs of `about` and `text`; a Java worker answers 404."""
        found: Sequence[Json] = self.call("GET", _path(name, "why"))
        return found

    def topics(self, name: str) -> Sequence[str]:
        """Return the topics that a connector used."""
        found: Sequence[str] = self.call("GET", _path(name, "topics"))[name]["topics"]
        return found

    def history(self, name: str) -> Json:
        """Return the history of a connector: versions and changes of state. ConnectError: a Java worker keeps none."""
        return self._versioned("GET", _path(name, "history"))

    def rollback(self, name: str, version: int) -> Json:
        """Bring back a version of a connector's history. ConnectError: a Java worker keeps none."""
        return self._versioned("PUT", _path(name, "rollback", str(version)))

    def plugins(self) -> Sequence[Json]:
        """Return every plug-in with its class, type and version."""
        found: Sequence[Json] = self.call("GET", "/connector-plugins?connectorsOnly=false")
        return found

    def validate(self, config: Mapping[str, str]) -> Json:
        """Return what is wrong with a configuration, by key."""
        name = quote(config.get("connector.class", "").rpartition(".")[2] or "missing", safe="")
        return self.call("PUT", f"/connector-plugins/{name}/config/validate?notes=true", dict(config))

    def metrics(self, worker: str = "") -> str:
        """Return the metrics of a worker of the cluster in Prometheus' text.

        The worker is named by its `host:port`; empty: the one that is asked. Another host does not hear who asks, as
        whoever writes to the status topic names it. RefusedError 404: a Java worker; 401: it wants to know who asks.
        ConnectError: it cannot be reached from here.
        """
        asked = urlsplit(self.url)
        url = f"{asked.scheme}://{worker}" if worker else self.url
        host, _, port = worker.rpartition(":")
        knows = not worker or (host.strip("[]") == asked.hostname and port.isdecimal())
        headers = {**self._headers, **(self._login.header() if knows else {}), "Accept": "text/plain"}
        return self._answer("GET", f"{url}/metrics", headers=headers).decode(errors="replace")

    def call(self, method: str, path: str, body: Json = None) -> Json:
        """Send one request and return its answer.

        RefusedError with the cluster's own words; ConnectError when nobody answers, or not as a worker does.
        """
        text = self._answer(method, self.url + path, None if body is None else json.dumps(body).encode())
        try:
            return read_answer(method, path, text)
        except WrongAnswerError as error:
            raise ConnectError(f"What answers at {self.url} is no Connect worker: {error}.") from error

    def _versioned(self, method: str, path: str) -> Json:
        try:
            return self.call(method, path)
        except RefusedError as error:
            if error.message != _NO_SUCH_PATH:
                raise
            raise ConnectError(
                f"The cluster at {self.url} keeps no versions of configurations, as a Java one does not.",
                fix="Keep the connectors' files under version control, and apply an older one.",
            ) from error

    def _answer(
        self, method: str, url: str, data: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        proxy = environment_proxy(url)
        try:
            with HttpClient(
                timeout_s=self._timeout_s,
                connect_timeout_s=self._timeout_s,
                tls=self._tls,
                proxy=proxy,
                limit_bytes=BYTES_MAX,
            ) as client:
                answer = client.ask(
                    method,
                    url,
                    headers=headers or {**self._headers, **self._login.header(), "Accept": "application/json"},
                    body=data,
                    redirects=_REDIRECTS if method == "GET" else 0,
                )
        except NoAnswerError as error:
            raise ConnectError(
                f"No worker answers at {self.url}: {error}.",
                fix="Start one (connect dev), or name one by --url, by CONNECT_URL, or by a context (connect context).",
            ) from error
        if answer.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise RefusedError(answer.status, _words(answer.data, answer.reason))
        return answer.data


def _show(tls: ssl.SSLContext, cert_file: str) -> None:
    """Use a client certificate for TLS. ConnectError: the file does not hold a certificate and its key."""
    try:
        tls.load_cert_chain(cert_file, password="")  # without one OpenSSL would ask on the terminal
    except (OSError, ssl.SSLError) as error:
        raise ConnectError(
            f"The client certificate in {cert_file} cannot be used: {error}.",
            fix="Write the certificate and its key, without a password, into one PEM file.",
        ) from error


def _path(name: str, *more: str) -> str:
    if name in {".", ".."}:
        raise ConnectError(
            f"A connector named {name!r} cannot be asked for: in an address that is a step between folders.",
            fix="Name another connector.",
        )
    return "/".join(["/connectors", quote(name, safe=""), *more])


def _words(body: bytes, reason: str) -> str:
    try:
        return str(read_json(body)["message"])
    except (WrongAnswerError, KeyError, TypeError):
        return f"{reason}: {body[:200].decode(errors='replace')}" if body else reason
