"""The settings of the S3 sink that say how its bucket is reached and what its objects bear. Values only.

Source of names and defaults: as `connectors.s3.config`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, SecretStr

from connect.api.config import (
    Boolean,
    ConnectorConfig,
    Int,
    ListOf,
    Long,
    Password,
    String,
    at_least,
    key,
    non_empty,
    one_of,
)
from connect.api.url import Url, UrlText


def _check_tag_pairs(value: tuple[str, ...]) -> tuple[str, ...]:
    wrong = next((pair for pair in value if not all(pair.partition(":")[::2])), None)
    if wrong is not None:
        raise ValueError(f"Give tags as key:value, not as {wrong!r}")
    return value


class BucketConfig(ConnectorConfig):
    """The keys of the group S3."""

    bucket: Annotated[String, non_empty] = key(
        "s3.bucket.name", doc="The bucket, which must exist.", importance="high", group="S3"
    )
    region: String = key("s3.region", "us-west-2", doc="The bucket's AWS region.", group="S3")
    store_url: Url = key(
        "store.url",
        UrlText(""),
        doc="Endpoint of an S3-compatible store, such as http://host:8333; empty: AWS.",
        group="S3",
    )
    path_style: Boolean = key(
        "s3.path.style.access.enabled", True, doc="Put the bucket into the path, not into the host name.", group="S3"
    )
    access_key_id: String = key(
        "aws.access.key.id",
        "",
        doc="Access key. Empty: AWS_* variables, web identity, the container's or the instance's role.",
        importance="high",
        group="S3",
    )
    secret_access_key: Password = key(
        "aws.secret.access.key", SecretStr(""), doc="Secret of aws.access.key.id.", importance="high", group="S3"
    )
    part_retries: Annotated[Int, at_least(0)] = key(
        "s3.part.retries", 3, doc="Attempts after the first of one request that met a 5xx or a lost connection.",
        group="S3",
    )  # fmt: skip
    retry_backoff_ms: Annotated[Long, at_least(0)] = key(
        "s3.retry.backoff.ms", 200, doc="First wait between these attempts; it doubles.", importance="low", group="S3"
    )
    request_timeout_ms: Annotated[Long, at_least(1)] = key(
        "s3.request.timeout.ms", 30_000, doc="Limit of one request, its body included.", importance="low", group="S3"
    )
    proxy_user: String = key(
        "s3.proxy.user", "", doc="User of s3.proxy.url.", importance="low", group="S3"
    )  # fmt: skip
    proxy_password: Password = key(
        "s3.proxy.password", SecretStr(""), doc="Password of s3.proxy.user.", importance="low", group="S3"
    )
    proxy_url: Url = key(
        "s3.proxy.url", UrlText(""), doc="HTTP proxy for requests to S3.", importance="low", group="S3"
    )
    sse_name: Annotated[String, one_of("", "AES256", "aws:kms")] = key(
        "s3.ssea.name", "", doc="Encryption at rest that S3 is asked for.", importance="low", group="S3"
    )
    sse_kms_key_id: String = key(
        "s3.sse.kms.key.id", "", doc="KMS key for s3.ssea.name=aws:kms.", importance="low", group="S3"
    )
    conditional_writes: Boolean = key(
        "enable.conditional.writes",
        True,
        doc="Create objects with If-None-Match, so that a second writer learns what is there already.",
        group="S3",
    )
    tagging: Boolean = key(
        "s3.object.tagging", False, doc="Tag objects with startOffset, endOffset and recordCount.", importance="low",
        group="S3",
    )  # fmt: skip
    tag_pairs: Annotated[ListOf, AfterValidator(_check_tag_pairs)] = key(
        "s3.object.tagging.key.value.pairs", (), doc="Further tags with s3.object.tagging=true: key:value,key:value.",
        importance="low", group="S3",
    )  # fmt: skip

    @property
    def tags(self) -> dict[str, str] | None:
        """Tags that all objects have; None: objects have no tags."""
        return dict(pair.split(":", 1) for pair in self.tag_pairs) if self.tagging else None
