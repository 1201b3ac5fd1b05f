"""Makes pyiceberg's catalogues accept only those properties from a server that are listed here.

A catalogue's answers, and the metadata of its tables, come from whoever runs the server or wrote the table. pyiceberg
would use classes that they name (`auth.impl`, `py-io-impl`, `write.py-location-provider.impl`), certificates, and
addresses to which it would send the worker's own keys. So only listed properties of answers are accepted, files are
opened by our own FileIO, and a table that names another one, or a provider of locations, is refused. pyiceberg's files
and environment variables (`~/.pyiceberg.yaml`, `PYICEBERG_CATALOG__*`) are not used: they belong to a catalogue's name,
which a connector can choose.

No other module uses private members of pyiceberg. These are `Catalog._load_file_io`, `Catalog._delete_old_metadata` and
`RestCatalog._create_session`; that they exist is checked before a catalogue is opened.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from requests import Response, Session

from connect.api.errors import ConfigError
from connect.lib.bounded_http import Limits
from connect.lib.bounded_requests import BoundedAdapter
from connectors.s3.iceberg.file_io import PY_IO_IMPL, ReachableFileIO

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.table import CommitTableResponse, Table

_WHOLE_S: Final = 60.0
_ANSWER_BYTES: Final = 64 << 20
_URI: Final = "uri"
_SERVERS: Final = frozenset({"prefix", "namespace-separator", "view-endpoints-supported"})
"""A server's `/v1/config` may set these properties, beside those for access to its store."""
_STORE: Final = frozenset({"s3.region", "client.region", "s3.force-virtual-addressing"})
_KEYS: Final = frozenset({
    "s3.access-key-id", "s3.secret-access-key", "s3.session-token",
    "client.access-key-id", "client.secret-access-key", "client.session-token",
})  # fmt: skip
"""A catalogue may give out keys for the store by these properties, as most catalogues do for each table."""
_ENDPOINT: Final = "s3.endpoint"
_OWN_ACCESS: Final = frozenset({"s3.anonymous", "s3.role-arn", "s3.role-session-name"})
_CLASSES: Final = (PY_IO_IMPL, "write.py-location-provider.impl")
"""In these properties a table can name classes of Python."""


def opened(kind: str, name: str, properties: Mapping[str, str]) -> Catalog:
    """Return the catalogue of a kind (sql, rest, glue, hive). ConfigError: this version of pyiceberg is not known."""
    _require_known_library()
    if kind == "rest":
        return ClosedRestCatalog(name, **properties)
    if kind == "sql":
        from pyiceberg.catalog.sql import SqlCatalog as Base
    elif kind == "glue":
        from pyiceberg.catalog.glue import GlueCatalog as Base  # type: ignore[assignment]  # the configuration chooses which class is the base
    else:
        from pyiceberg.catalog.hive import HiveCatalog as Base  # type: ignore[assignment]  # the configuration chooses which class is the base
    closed: Any = type(f"Closed{Base.__name__}", (Closed, Base), {})
    made: Catalog = closed(name, **properties)
    return made


def _require_known_library() -> None:
    places = [
        (Catalog, "_load_file_io", {"properties", "location"}), (RestCatalog, "_create_session", set[str]()),
        (Catalog, "_delete_old_metadata", {"io", "base", "metadata"}),
    ]  # fmt: skip
    for base, name, parameters in places:
        found = inspect.getattr_static(base, name, None)
        if found is None or not parameters <= set(inspect.signature(found).parameters):
            raise ConfigError(
                f"table.format=iceberg does not know this version of pyiceberg, which has no {base.__name__}.{name}.",
                key="table.format",
                fix="Run: pip install 'connect-for-kafka[s3-iceberg]'.",
            )


class Closed:
    """Is a mix-in for a catalogue of pyiceberg, to be named before it. It allows only listed properties and files."""

    _own: dict[str, str] | None = None
    _merged: dict[str, str]

    @property
    def properties(self) -> dict[str, str]:
        """Return the configuration's properties, and those of the server's that are listed here."""
        return self._merged

    @properties.setter
    def properties(self, given: Mapping[str, str]) -> None:
        if self._own is None:
            self._own = self._merged = dict(given)
            return
        _require_same_address(self._own, given)
        listed = {key: value for key, value in given.items() if key in _SERVERS}
        self._merged = {**listed, **with_access(self._own, given)}

    def _load_file_io(self, properties: Mapping[str, str] | None = None, location: str | None = None) -> FileIO:
        del location
        given = properties or {}
        require_no_classes(given)
        return ReachableFileIO(with_access(self.properties, given))

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """Commit as pyiceberg does. ConfigError: the answer's metadata name classes."""
        answer: CommitTableResponse = super().commit_table(table, requirements, updates)  # type: ignore[misc]  # `opened` and ClosedRestCatalog put pyiceberg's class behind this one
        require_no_classes(answer.metadata.properties)
        return answer


class ClosedRestCatalog(Closed, RestCatalog):
    """Is a catalogue over HTTP that follows no redirect."""

    def _create_session(self) -> Session:
        session = super()._create_session()
        session.hooks["response"].append(_require_no_redirect)
        for scheme in ("http://", "https://"):
            session.mount(scheme, BoundedAdapter(Limits(_WHOLE_S, _ANSWER_BYTES)))
        return session

    @staticmethod
    def _delete_old_metadata(*_: object) -> None:
        """Delete nothing: these files belong to the server, and its answers could name any file of the store."""


def require_no_classes(properties: Mapping[str, str]) -> None:
    """Raise ConfigError if a table's properties choose code."""
    for key in _CLASSES:
        # Our own class is allowed, as it is among the properties that a catalogue is opened with.
        if properties.get(key) and properties[key] != f"{ReachableFileIO.__module__}.{ReachableFileIO.__name__}":
            raise ConfigError(
                f"The table's property {key} names a class, which would run on the worker; this sink writes tables "
                "without.",
                key="iceberg.table",
                fix=f"Take {key} out of the table, or name another one.",
            )


def with_access(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties `own`, changed by those of an answer for access to its store.

    Keys are accepted as a pair only. Another address of the store is accepted only if the catalogue gives out keys, or
    if the configuration has keys. So keys that the worker finds on its machine are never sent there.
    """
    taken = {key: value for key, value in given.items() if key in _STORE}
    keys = {key: value for key, value in given.items() if key in _KEYS and value and own.get(key) != value}
    has_keys = any({f"{of}.access-key-id", f"{of}.secret-access-key"} <= keys.keys() for of in ("s3", "client"))
    kept = dict(own)
    if has_keys:
        taken |= keys
        kept = {key: value for key, value in own.items() if key not in _OWN_ACCESS | _KEYS}
    endpoint = given.get(_ENDPOINT, "")
    if _origin(endpoint)[0] in {"http", "https"} and (has_keys or own.get("s3.access-key-id")):
        taken[_ENDPOINT] = endpoint
    return {**kept, **taken}


def _require_same_address(own: Mapping[str, str], given: Mapping[str, str]) -> None:
    now = _origin(given.get(_URI, ""))
    if now != _origin(own.get(_URI, "")):
        raise ConfigError(
            f"The catalogue wants its requests sent elsewhere, to {'://'.join(now)}.",
            key="iceberg.catalog.uri",
            fix="Give that address, if it is right.",
        )


def _origin(address: str) -> tuple[str, str]:
    """Return the protocol of an address, and its host with port; two empty texts if it is no address."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc.rpartition("@")[2]


def _require_no_redirect(answer: Response, *_: object, **__: object) -> None:
    if answer.is_redirect or answer.is_permanent_redirect:
        to = "://".join(_origin(answer.headers.get("location", "")))
        raise ConfigError(
            f"The catalogue answers HTTP {answer.status_code}, a redirect to {to}, which is not followed.",
            key="iceberg.catalog.uri",
            fix="Give the address itself, if it is right.",
        )
