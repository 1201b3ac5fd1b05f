"""Creates objects with a canned ACL by botocore, as the store's usual client knows no ACLs."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from connect.api.errors import ConnectError, RetriableError
from connectors.s3.settings.credentials import provider_of

if TYPE_CHECKING:
    from connectors.s3.settings.bucket_config import BucketConfig

_THERE_ALREADY = frozenset({409, 412})
_REDIRECTS = frozenset({300, 301, 302, 303, 305, 307, 308})


class AclPuts:
    """Replaces the store's client for creating objects."""

    def __init__(self, config: BucketConfig) -> None:
        self._config = config
        self._provider = provider_of(config)
        self._client: Any = None
        self._keys: tuple[str, ...] = ()

    async def put_async(
        self,
        key: str,
        data: Any,
        *,
        attributes: Mapping[str, str],
        tags: Mapping[str, str] | None,
        mode: str,
        use_multipart: bool,  # noqa: ARG002 - a put is never one of several parts
    ) -> None:
        """Create an object by one PUT, in a thread. obstore's AlreadyExistsError: the object exists already."""
        await asyncio.to_thread(self._put, key, data, dict(attributes), tags, is_conditional=mode == "create")

    def _put(
        self, key: str, data: Any, attributes: dict[str, str], tags: Mapping[str, str] | None, *, is_conditional: bool
    ) -> None:
        from botocore.exceptions import BotoCoreError, ClientError
        from obstore.exceptions import AlreadyExistsError

        config, customer_key = self._config, self._config.sse_customer_key.get_secret_value()
        given = {
            "Bucket": config.bucket, "Key": key, "Body": bytes(data), "ACL": config.acl_canned,
            "ContentType": attributes.pop("Content-Type"), "Metadata": attributes,
            **({"IfNoneMatch": "*"} if is_conditional else {}),
            **({"Tagging": urlencode(tags)} if tags is not None else {}),
            **({"ServerSideEncryption": config.sse_name} if config.sse_name and not customer_key else {}),
            **({"SSECustomerAlgorithm": "AES256", "SSECustomerKey": b64decode(customer_key)} if customer_key else {}),
            **({"SSEKMSKeyId": config.sse_kms_key_id} if config.sse_kms_key_id else {}),
        }  # fmt: skip
        try:
            self._current().put_object(**given)
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            code = error.response.get("Error", {}).get("Code", "")
            if status in _THERE_ALREADY:
                raise AlreadyExistsError(key) from error
            # The text is that of the store's client, which StoreErrors reads.
            raise OSError(f"status code: {status} <Code>{code}</Code>") from error
        except BotoCoreError as error:
            raise RetriableError(f"Bucket {config.bucket} is not reachable ({type(error).__name__}).") from error

    def _current(self) -> Any:
        """Return the client; a new one is made if the access keys have changed."""
        keys = self._asked_keys()
        if self._client is None or keys != self._keys:
            self._client, self._keys = _client(self._config, keys), keys
        return self._client

    def _asked_keys(self) -> tuple[str, ...]:
        config = self._config
        if self._provider is None:
            return (config.access_key_id, config.secret_access_key.get_secret_value(), "")
        found = self._provider()
        return (found["access_key_id"], found["secret_access_key"], found["token"] or "")


def _client(config: BucketConfig, keys: tuple[str, ...]) -> Any:
    from botocore.config import Config
    from botocore.session import Session

    timeout_s = config.request_timeout_ms / 1000
    client = Session().create_client(
        "s3",
        region_name=config.region,
        endpoint_url=config.store_url or None,
        aws_access_key_id=keys[0],
        aws_secret_access_key=keys[1],
        aws_session_token=keys[2] or None,
        config=Config(
            s3={"addressing_style": "path" if config.path_style else "virtual"},
            connect_timeout=min(timeout_s, 10),
            read_timeout=timeout_s,
            retries={"total_max_attempts": config.part_retries + 1},
            proxies={"http": config.proxy, "https": config.proxy} if config.proxy else None,
        ),
    )
    if config.store_url:
        # Only Amazon answers in which region a bucket is. Another store's redirect makes botocore ask again and again.
        client.meta.events.register_first("needs-retry.s3", _refuse_redirect)
    return client


def _refuse_redirect(response: tuple[Any, Any] | None, **_: Any) -> None:
    """Raise ConnectError if a store answers with a redirect."""
    status = 0 if response is None else response[0].status_code
    if status in _REDIRECTS:
        raise ConnectError(
            f"The store sends a request elsewhere ({status}), and neither rows nor keys follow it.",
            key="store.url",
            fix="Name the address where the bucket is in store.url.",
        )
