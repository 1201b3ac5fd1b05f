"""Opens Google's clients for a configuration, with its credentials and addresses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.storage import StorageWriter
from connectors.bigquery.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def open_warehouse(config: BigQuerySinkConfig) -> Warehouse:
    """Open the dataset of a configuration. Nothing is sent yet. ConfigError: there are no credentials."""
    client = open_client(config)
    return Warehouse(client, config.project, config.dataset, timeout_s=config.request_timeout_ms / 1000)


def open_client(config: BigQuerySinkConfig) -> Any:
    """Open Google's client, a `google.cloud.bigquery.Client`. ConfigError: there are no credentials."""
    from google.cloud import bigquery

    from connectors.bigquery.warehouse.session import WarehouseSession

    options = {"api_endpoint": config.endpoint} if config.endpoint else None
    credentials = _credentials(config)
    own: str | None = getattr(credentials, "project_id", None)
    project = own if config.use_credentials_project and own else config.project
    session = WarehouseSession(credentials, config.endpoint, timeout_s=config.request_timeout_ms / 1000)
    # Google's client takes a session of ours by this name alone.
    return bigquery.Client(project=project, credentials=credentials, client_options=options, _http=session)


def account_of(config: BigQuerySinkConfig) -> str:
    """Return the address of the account that asks, or a word for it where its credentials do not tell."""
    return getattr(_credentials(config), "service_account_email", "") or "ACCOUNT"


def open_storage(config: BigQuerySinkConfig) -> StorageWriter:
    """Open the Storage Write API of a configuration. Nothing is sent yet."""
    from google.cloud.bigquery_storage_v1 import BigQueryWriteClient

    timeout_s = config.request_timeout_ms / 1000
    if config.insecure:
        return StorageWriter(_insecure_storage(config), config.project, config.dataset, timeout_s=timeout_s)
    options = {"api_endpoint": config.storage_endpoint} if config.storage_endpoint else None
    client: Any = BigQueryWriteClient(credentials=_credentials(config), client_options=options)  # type: ignore[no-untyped-call]
    return StorageWriter(client, config.project, config.dataset, timeout_s=timeout_s)


def _insecure_storage(config: BigQuerySinkConfig) -> Any:
    import grpc
    from google.cloud.bigquery_storage_v1 import BigQueryWriteClient
    from google.cloud.bigquery_storage_v1.services.big_query_write.transports import BigQueryWriteGrpcTransport

    channel = grpc.insecure_channel(config.storage_endpoint)
    return BigQueryWriteClient(transport=BigQueryWriteGrpcTransport(channel=channel))  # type: ignore[no-untyped-call]


def _credentials(config: BigQuerySinkConfig) -> Credentials:
    from google.auth.credentials import AnonymousCredentials

    if config.insecure:
        return AnonymousCredentials()  # type: ignore[no-untyped-call]
    keyfile = config.keyfile.get_secret_value()
    if config.key_source.upper() == "JSON":
        return _from_key(keyfile)
    if keyfile and config.key_source.upper() == "FILE":
        return _from_file(keyfile, config.allowed)
    return _from_environment()


def _from_file(path: str, allowed: AllowedPaths) -> Credentials:
    try:
        # The path is a secret, too.
        text = allowed.read_bytes("keyfile", path, shown=False).decode("utf-8")
    except (OSError, ValueError):
        raise ConfigError(
            "The file that keyfile names cannot be read on this worker.",
            key="keyfile",
            fix="Put the service account's key there, readable for the worker, or set keySource=JSON.",
        ) from None
    return _from_key(text)


def _from_key(text: str) -> Credentials:
    from google.oauth2 import service_account

    try:
        make: Any = service_account.Credentials.from_service_account_info
        credentials: Credentials = make(json.loads(text), scopes=[_SCOPE])
    except Exception:  # noqa: BLE001 - whatever is wrong with it, the text of the error may hold parts of the key
        raise ConfigError(
            "keyfile holds no key of a service account (JSON of type service_account).",
            key="keyfile",
            fix="Take the JSON file that Google Cloud gives for a service account's key.",
        ) from None
    return credentials


def _from_environment() -> Credentials:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
    except DefaultCredentialsError as error:
        raise ConfigError(
            "The worker's environment has no Google credentials.",
            key="keyfile",
            fix="Give a service account's key in keyfile, or set GOOGLE_APPLICATION_CREDENTIALS for the worker.",
        ) from error
    found: Credentials = credentials
    return found
