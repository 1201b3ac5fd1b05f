"""Makes the client of each kind of store: S3, Google's, Azure's, a folder, HDFS. All have the same few calls.

Each client creates an object on the condition that none of that key exists: S3 and Azure by `If-None-Match: *`, Google
by `x-goog-if-generation-match: 0`, a folder by a link, HDFS by renaming. Making a client does not connect.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import ConfigError
from connectors.s3.settings.classes import AZURE_STORAGE, GCS_STORAGE, HDFS_STORAGE, LOCAL_STORAGE, S3_STORAGE
from connectors.s3.settings.credentials import Keys, is_anonymous, provider_of
from connectors.s3.stores.folder_store import Found
from connectors.s3.stores.local_folder import LocalFolder

if TYPE_CHECKING:
    from connectors.s3.settings.bucket_config import BucketConfig


_NO_ACCOUNT: Final = '{"client_email": "", "private_key": "", "private_key_id": "", "disable_oauth": true}'


def open_store(config: BucketConfig, keys: Keys | None = None) -> Any:
    """Return the client of a bucket: one of `obstore.store`, or an object with the same calls.

    `keys` is the provider of access keys from `provider_of`, or None if one is made here if the configuration has no
    keys. Where both are None, the client looks for keys, or requests are not signed.
    """
    opened: dict[str, Callable[[], Any]] = {
        S3_STORAGE: lambda: _s3(config, keys or provider_of(config)),
        GCS_STORAGE: lambda: _gcs(config),
        AZURE_STORAGE: lambda: _azure(config),
        LOCAL_STORAGE: lambda: LocalFolder(Path(config.bucket), config.allowed),
        HDFS_STORAGE: lambda: _hdfs(config),
    }
    return opened[config.storage_class]()


def _s3(config: BucketConfig, provider: Keys | None) -> Any:
    from obstore.store import S3Store

    customer_key = config.sse_customer_key.get_secret_value()
    # Confluent's s3.wan.mode uses the endpoint of this name (S3 User Guide, Transfer Acceleration).
    accelerated = f"https://{config.bucket}.s3-accelerate.amazonaws.com" if config.wan_mode else None
    settings: Any = {
        "region": config.region,
        "virtual_hosted_style_request": config.wan_mode or not config.path_style,
        "endpoint": config.store_url or accelerated,
        "access_key_id": config.access_key_id or None,
        "secret_access_key": config.secret_access_key.get_secret_value() or None,
        "server_side_encryption": "sse-c" if customer_key else config.sse_name or None,
        "sse_kms_key_id": config.sse_kms_key_id or None,
        "sse_customer_key_base64": customer_key or None,
    }
    if provider is not None:
        settings |= {"access_key_id": None, "secret_access_key": None}
    elif is_anonymous(config):
        settings["skip_signature"] = True
    return S3Store(config.bucket, config=_given(settings), credential_provider=provider, **_client(config))


def _gcs(config: BucketConfig) -> Any:
    from obstore.store import GCSStore

    key = config.gcs_credentials_json.get_secret_value() or _key_in_file(config)
    if config.store_url and not key:
        # The token of the worker's own account is for Google alone, and must not be sent to another store. Switching
        # off signatures is not enough, as the client asks for that token before each write.
        key = _NO_ACCOUNT
    settings: Any = {
        "service_account_key": key or None,
        "base_url": config.store_url or None,
    }
    name = "gcs.credentials.json" if config.gcs_credentials_json.get_secret_value() else "gcs.credentials.path"
    with _key_read(name, "it is no key of a service account", "Take the JSON file that Google gave for it, as it is."):
        return GCSStore(config.bucket, config=_given(settings), **_client(config))


@contextmanager
def _key_read(name: str, what: str, fix: str) -> Iterator[None]:
    """Replace the client's error about a key by one without the key, as the client's error may repeat all of it."""
    from obstore.exceptions import GenericError

    try:
        yield
    except GenericError:
        raise ConfigError(f"Invalid value for configuration {name}: {what}.", key=name, fix=fix) from None


def _key_in_file(config: BucketConfig) -> str:
    name, path = "gcs.credentials.path", config.gcs_credentials_path
    if not path:
        return ""
    try:
        return config.allowed.read_bytes(name, path).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"File {path} cannot be read: {error}.", key=name, fix="Put the key there.") from None


def _azure(config: BucketConfig) -> Any:
    from obstore.store import AzureStore

    key, token = config.azure_account_key.get_secret_value(), config.azure_sas_token.get_secret_value()
    settings: Any = {
        "account_name": config.azure_account,
        "account_key": key or None,
        "sas_key": token or None,
        "endpoint": config.store_url or None,
        "skip_signature": True if config.store_url and not (key or token) else None,
    }
    with _key_read("azblob.account.key", "it is no key of an account in base64", "Take it from the account's page."):
        return AzureBlobs(AzureStore(config.bucket, config=_given(settings), **_client(config)))


def _hdfs(config: BucketConfig) -> Any:
    from connectors.s3.stores.hdfs import HdfsFolder
    from connectors.s3.stores.webhdfs import WebHdfs

    given = {"user.name": config.hdfs_user_name, "delegation": config.hdfs_delegation_token.get_secret_value()}
    server = WebHdfs(
        config.store_url,
        {name: value for name, value in given.items() if value},
        timeout_s=config.request_timeout_ms / 1000,
        retries=config.part_retries,
        retry_backoff_s=config.retry_backoff_ms / 1000,
        may_reach=config.may_name,
    )
    return HdfsFolder(config.bucket, server)


def _client(config: BucketConfig) -> Any:
    timeout = timedelta(milliseconds=config.request_timeout_ms)
    options: Any = {
        "timeout": timeout,
        "connect_timeout": min(timeout, timedelta(seconds=10)),
        "allow_http": config.store_url.startswith("http://"),
        "proxy_url": config.proxy or None,
    }
    return {
        "client_options": _given(options),
        "retry_config": {
            "max_retries": config.part_retries,
            "retry_timeout": timeout,
            "backoff": {"init_backoff": timedelta(milliseconds=config.retry_backoff_ms)},
        },
    }


@dataclass(frozen=True, slots=True)
class AzureBlobs:
    """Wraps Azure's client, and replaces hyphens in names of metadata, as Azure takes only names as those of C#."""

    store: Any

    async def put_async(self, key: str, data: Any, *, attributes: Mapping[str, str], **others: Any) -> None:
        """Create an object as obstore does."""
        named = {name if name == "Content-Type" else name.replace("-", "_"): text for name, text in attributes.items()}
        await self.store.put_async(key, data, attributes=named, **others)

    async def get_async(self, key: str, *, options: Any = None) -> Found:
        """Return an object as obstore does."""
        found = await self.store.get_async(key, options=options)
        attributes = {name.replace("_", "-"): text for name, text in found.attributes.items()}
        return Found(attributes, found.bytes_async)

    def list(self, prefix: str | None = None, **others: Any) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """Return the pages of a listing as obstore does."""
        pages: AsyncIterator[Sequence[Mapping[str, Any]]] = self.store.list(prefix, **others)
        return pages

    async def list_with_delimiter_async(self, prefix: str) -> None:
        """List a folder as obstore does, and return nothing."""
        await self.store.list_with_delimiter_async(prefix)

    async def delete_async(self, key: str) -> None:
        """Delete an object as obstore does."""
        await self.store.delete_async(key)


def _given(settings: dict[str, Any]) -> Any:
    return {name: value for name, value in settings.items() if value is not None}
