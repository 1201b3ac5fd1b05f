"""Opens the catalogue that keeps the tables, and translates its errors, the store's and the database's for a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from connect.api.errors import ConfigError, RetriableError
from connectors.s3.settings.classes import LOCAL_STORAGE, simple_name
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.credentials import ANONYMOUS, ROLE
from connectors.s3.settings.sql_address import without_own_passwords

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_PATHS: Final = ("write.data.path", "write.metadata.path")
"""By these properties a table can have files outside of its own location."""
_S3_SCHEMES: Final = frozenset({"s3", "s3a", "s3n"})


def load(config: S3SinkConfig) -> Catalog:
    """Open the catalogue of a configuration. RetriableError: it cannot be reached. ConfigError names what to change."""
    with catalog_errors(config):
        from connectors.s3.iceberg.closed_catalog import opened
        from connectors.s3.iceberg.file_io import reach_properties

        reach = reach_properties(of_folder=config.storage_class == LOCAL_STORAGE, allowed=config.allowed.paths)
        catalog = opened(config.catalog_type, config.catalog, {**properties(config), **reach})
        if config.catalog_type == "sql":
            _drop_connections_after_errors(catalog)
        return catalog


def _drop_connections_after_errors(catalog: Any) -> None:
    """Have a SQL catalogue drop each connection on which a statement failed.

    If a COMMIT fails, as SQLite's may while somebody reads, SQLAlchemy ends the transaction without a rollback. The
    next call on that connection would see changes that were never committed.
    """
    from sqlalchemy import event

    def drop(context: Any) -> None:
        context.is_disconnect = True

    event.listen(catalog.engine, "handle_error", drop)


def properties(config: S3SinkConfig) -> dict[str, str]:
    """Return the settings under the names that they have in pyiceberg."""
    given: Mapping[str, str] = {
        "type": config.catalog_type,
        "uri": _uri(config),
        "credential": config.catalog_credential.get_secret_value(),
        "token": config.catalog_token.get_secret_value(),
        "warehouse": _warehouse(config) if config.catalog_type in {"sql", "hive", "glue"} else config.catalog_warehouse,
        "glue.region": config.region if config.catalog_type == "glue" else "",
        **(_s3_properties(config) if config.storage_class != LOCAL_STORAGE else {}),
    }
    return {name: value for name, value in given.items() if value}


def _uri(config: S3SinkConfig) -> str:
    address = str(config.catalog_uri)
    return without_own_passwords(address, config.allowed) if config.catalog_type == "sql" else address


def _warehouse(config: S3SinkConfig) -> str:
    root = Path(config.bucket).resolve().as_uri() if config.storage_class == LOCAL_STORAGE else f"s3://{config.bucket}"
    return "/".join(part for part in (root, config.topics_dir) if part)


def _s3_properties(config: S3SinkConfig) -> dict[str, str]:
    provider = simple_name(config.credentials_provider)
    timeout_s = str(max(1, config.request_timeout_ms // 1000))
    return {
        "s3.endpoint": str(config.store_url),
        "s3.region": config.region,
        "s3.access-key-id": config.access_key_id,
        "s3.secret-access-key": config.secret_access_key.get_secret_value(),
        "s3.anonymous": "true" if provider == ANONYMOUS else "",
        "s3.role-arn": config.role_arn if provider == ROLE else "",
        "s3.role-session-name": config.role_session_name if provider == ROLE else "",
        "s3.force-virtual-addressing": "" if config.path_style else "true",
        "s3.proxy-uri": config.proxy,
        "s3.connect-timeout": str(min(10, int(timeout_s))),
        "s3.request-timeout": timeout_s,
        "s3.server-side-encryption": config.sse_name,
        "s3.sse-kms-key-id": config.sse_kms_key_id,
    }


def require_reachable(config: S3SinkConfig, name: str, table: Table) -> None:
    """Raise ConfigError if the catalogue keeps the table's files in a place where the connector may not write."""
    places = [table.location(), *(table.properties[key] for key in _PATHS if key in table.properties)]
    for place in places:
        parts = urlsplit(place)
        if config.storage_class == LOCAL_STORAGE:
            is_allowed = parts.scheme in {"", "file"} and config.allowed.allow(unquote(parts.path))
        else:
            is_allowed = parts.scheme in _S3_SCHEMES
        if not is_allowed:
            raise ConfigError(
                f"Table {name} has files at {place}, where this configuration does not reach.",
                key="storage.class",
                fix="Tables in a folder need storage.class=connect.s3.LocalStorage, and that allowed.paths of "
                "the worker's file lists it.",
            )


@contextmanager
def catalog_errors(config: S3SinkConfig) -> Iterator[None]:
    """Translate errors of the libraries to those that tasks raise. An error that refuses a commit passes unchanged."""
    try:
        yield
    except ImportError as error:
        raise ConfigError(
            f"table.format=iceberg needs a package that is not installed ({error.name}).",
            key="table.format",
            fix="Install connect-for-kafka[s3-iceberg].",
        ) from error
    except Exception as error:
        found = _translated(error, f"The {config.catalog_type} catalogue {config.catalog_uri.shown}")
        if found is None:
            raise
        raise found from error


def _translated(error: Exception, where: str) -> ConfigError | RetriableError | None:
    import requests
    from pydantic import ValidationError
    from pyiceberg import exceptions as e

    kind = type(error).__name__
    if isinstance(error, ValidationError | RecursionError):
        # The error's text is left out: it has a part of the answer, which may be a key that the catalogue gives out.
        return RetriableError(f"{where} answers what no catalogue does ({kind}).")
    if isinstance(error, e.UnauthorizedError | e.ForbiddenError | e.OAuthError):
        return ConfigError(f"{where} refused access ({kind}).", key="iceberg.catalog.credential")
    if isinstance(error, e.NoSuchPropertyException | e.NotInstalledError):
        return ConfigError(f"{where} cannot be opened: {error}", key="iceberg.catalog.type")
    if isinstance(error, e.RESTError | requests.RequestException | OSError) or _is_of_database(error):
        # The error's text is left out, as it may have an address with a password.
        return RetriableError(f"{where}, or the store of its tables, is away or has a fault of its own ({kind}).")
    return None


def _is_of_database(error: Exception) -> Any:
    try:
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        return False
    return isinstance(error, SQLAlchemyError)
