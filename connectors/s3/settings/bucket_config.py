"""Declares the settings of the S3 sink for access to its bucket, and for its objects' metadata and tags. Values only.

Source of names and defaults: as `connectors.s3.settings.config`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Annotated, Final
from urllib.parse import quote

from pydantic import AfterValidator, BeforeValidator, SecretStr

from connect.api.allowed import OneOf
from connect.api.config import (
    Boolean,
    ClassName,
    ConnectorConfig,
    Int,
    ListOf,
    Long,
    Password,
    String,
    at_least,
    between,
    key,
    non_empty,
    one_of,
)
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.url import Url, UrlText
from connect.lib.cloud_names import account_name, bucket_name, region_name
from connectors.s3.settings.classes import (
    AZURE_STORAGE,
    DEFAULT_CREDENTIALS,
    HDFS_STORAGE,
    LOCAL_STORAGE,
    S3_STORAGE,
    STORAGES,
    simple_name,
)
from connectors.s3.settings.credentials import BRINGS_BOTOCORE, ROLE, STATIC, beyond_the_client, has_botocore
from connectors.s3.settings.limits import any_package, credentials_class, one_class

CANNED_ACLS: Final = (
    "private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read", "bucket-owner-read",
    "bucket-owner-full-control", "log-delivery-write",
)  # fmt: skip


_AMAZONS_ALONE: Final = ("s3.acl.canned", "s3.ssea.name", "s3.sse.customer.key", "s3.sse.kms.key.id")


def _check_customer_key(value: SecretStr) -> SecretStr:
    try:
        size = len(base64.b64decode(value.get_secret_value(), validate=True))
    except ValueError:
        size = -1
    if size not in {0, 32}:
        raise ValueError("Give 256 bits in base64")
    return value


def _check_tag_pairs(value: tuple[str, ...]) -> tuple[str, ...]:
    wrong = next((pair for pair in value if not all(pair.partition(":")[::2])), None)
    if wrong is not None:
        raise ValueError(f"Give tags as key:value, not as {wrong!r}")
    return value


class BucketConfig(ConnectorConfig):
    """Declares the keys of the group S3."""

    storage_class: Annotated[
        ClassName, BeforeValidator(any_package), one_class(*STORAGES), OneOf(STORAGES)
    ] = key(
        "storage.class", S3_STORAGE, doc="The store of the objects: S3 and what speaks its language, Google's, "
        "Azure's, a folder of the worker's machine, or HDFS.", importance="low", group="S3",
    )  # fmt: skip
    folders: ListOf = key(
        "s3.local.folders", (), doc="Folders that the worker allows beside those of allowed.paths.", group="S3",
        reach=Reach.FILE, from_worker=True,
    )  # fmt: skip
    bucket: Annotated[String, non_empty] = key(
        "s3.bucket.name",
        reach=Reach.FILE, bounds="with LocalStorage as any folder; else a name in the store, or HDFS",
        doc="The bucket, or Azure's container, which must exist; of LocalStorage and HdfsStorage "
        "the path of a folder.", importance="high", group="S3",
    )  # fmt: skip
    region: Annotated[String, AfterValidator(region_name)] = key(
        "s3.region", "us-west-2", doc="The bucket's AWS region.", group="S3"
    )
    store_url: Url = key(
        "store.url",
        UrlText(""),
        bounds="HTTP alone; tokens of the worker's own Google or Azure account and Kerberos tickets are not sent there",
        doc="Endpoint of the store, such as http://host:8333; empty: the cloud's own. Of HdfsStorage the name node's "
        "web interface, such as http://namenode:9870.",
        group="S3",
    )
    path_style: Boolean = key(
        "s3.path.style.access.enabled", True, doc="Put the bucket into the path, not into the host name.", group="S3"
    )
    access_key_id: String = key(
        "aws.access.key.id",
        "",
        harmless="a name",
        doc="Access key; empty: see s3.credentials.provider.class.",
        importance="high",
        group="S3",
    )
    secret_access_key: Password = key(
        "aws.secret.access.key", SecretStr(""), doc="Secret of aws.access.key.id.", importance="high", group="S3"
    )
    credentials_provider: Annotated[ClassName, credentials_class] = key(
        "s3.credentials.provider.class", DEFAULT_CREDENTIALS, doc="Where access keys come from where "
        "aws.access.key.id is empty, by the class of Amazon's SDK (default chain, environment, profile, web identity, "
        "container, instance, anonymous), or Confluent's AwsAssumeRoleCredentialsProvider.", group="S3",
    )  # fmt: skip
    role_arn: String = key(
        "s3.credentials.provider.sts.role.arn", "",
        harmless="a name",
        doc="The role that AwsAssumeRoleCredentialsProvider assumes.",
        group="S3",
    )  # fmt: skip
    role_session_name: String = key(
        "s3.credentials.provider.sts.role.session.name",
        "",
        harmless="a name",
        doc="The name of its sessions.",
        group="S3",
    )
    role_external_id: String = key(
        "s3.credentials.provider.sts.role.external.id",
        "",
        harmless="a name",
        doc="The external id that the role asks for.",
        group="S3",
    )
    role_session_s: Annotated[Int, between(0, 43_200)] = key(
        "s3.credentials.provider.sts.role.session.duration", 0, doc="Seconds of a session; 0: as the role says.",
        importance="low", group="S3",
    )  # fmt: skip
    sts_region: Annotated[String, AfterValidator(region_name)] = key(
        "s3.credentials.provider.sts.region",
        "",
        harmless="a name of a region",
        doc="Region of STS; empty: s3.region.",
        importance="low",
        group="S3",
    )
    sts_endpoint: Url = key(
        "s3.credentials.provider.sts.endpoint", UrlText(""),
        bounds="HTTP alone; requests are signed, and the secret is not sent",
        doc="Endpoint of STS; empty: Amazon's.", importance="low",
        group="S3",
    )  # fmt: skip
    acl_canned: Annotated[String, one_of("", *CANNED_ACLS)] = key(
        "s3.acl.canned", "", doc="Canned ACL of the objects.", importance="low", group="S3"
    )
    wan_mode: Boolean = key(
        "s3.wan.mode", False, doc="Use Amazon's accelerated endpoint.", importance="low", group="S3"
    )
    sse_customer_key: Annotated[Password, AfterValidator(_check_customer_key)] = key(
        "s3.sse.customer.key", SecretStr(""), doc="Key of 256 bits in base64 that objects are encrypted with "
        "(SSE-C); it needs HTTPS.", importance="low", group="S3",
    )  # fmt: skip
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
        "s3.proxy.user", "", harmless="a name", doc="User of s3.proxy.url.", importance="low", group="S3"
    )  # fmt: skip
    proxy_password: Password = key(
        "s3.proxy.password",
        SecretStr(""),
        harmless="a password",
        doc="Password of s3.proxy.user.",
        importance="low",
        group="S3",
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

    gcs_credentials_path: String = key(
        "gcs.credentials.path", "",
        reach=Reach.FILE,
        doc="GcsStorage: file of a service account's key (JSON) on the worker; empty here "
        "and in gcs.credentials.json: the worker's own account.", group="S3",
    )  # fmt: skip
    gcs_credentials_json: Password = key(
        "gcs.credentials.json", SecretStr(""), doc="GcsStorage: such a key itself.", group="S3"
    )
    azure_account: Annotated[String, AfterValidator(account_name)] = key(
        "azblob.account.name", "", doc="AzureBlobStorage: the storage account.", group="S3"
    )
    azure_account_key: Password = key(
        "azblob.account.key", SecretStr(""), doc="AzureBlobStorage: its key; empty here and in azblob.sas.token: the "
        "worker's own identity.", group="S3",
    )  # fmt: skip
    azure_sas_token: Password = key(
        "azblob.sas.token", SecretStr(""), doc="AzureBlobStorage: a shared access signature in the place of a key.",
        group="S3",
    )  # fmt: skip
    hdfs_user_name: String = key(
        "hdfs.user.name", "", doc="HdfsStorage: the user whom a cluster without Kerberos takes the sink for.",
        group="S3",
    )  # fmt: skip
    hdfs_delegation_token: Password = key(
        "hdfs.delegation.token", SecretStr(""), doc="HdfsStorage: a delegation token, as `hdfs fetchdt` gets one.",
        group="S3",
    )  # fmt: skip

    def named_files(self) -> Iterable[tuple[str, str]]:
        """Yield the folder of LocalStorage and the file with a key, each in a pair after the setting that names it."""
        if self.storage_class == LOCAL_STORAGE:
            yield "s3.bucket.name", self.bucket
        if self.gcs_credentials_path:
            yield "gcs.credentials.path", self.gcs_credentials_path

    def may_name(self, address: str) -> bool:
        """Return True if the worker lets configurations name the host of this URL."""
        return not any(self._hosts.problems([("store.url", address)]))

    def bucket_problems(self) -> Iterator[ConfigProblem]:
        """Yield what is wrong between keys of this group."""
        if bool(self.access_key_id) != bool(self.secret_access_key.get_secret_value()):
            name = "aws.access.key.id" if not self.access_key_id else "aws.secret.access.key"
            yield ConfigProblem(name, "aws.access.key.id and aws.secret.access.key go together; set both or none.")
        provider = simple_name(self.credentials_provider)
        if provider == ROLE and not (self.role_arn and self.role_session_name):
            name = "role.arn" if not self.role_arn else "role.session.name"
            key_name = f"s3.credentials.provider.sts.{name}"
            yield ConfigProblem(key_name, f"{ROLE} needs {key_name}.")
        if provider in STATIC and not self.access_key_id:
            yield ConfigProblem("aws.access.key.id", f"{provider} needs aws.access.key.id.")
        if self.storage_class == S3_STORAGE and not has_botocore():
            needs = "needs the package botocore, which is not installed"
            yield from (ConfigProblem(n, f"{n} {needs}. {BRINGS_BOTOCORE}") for n in beyond_the_client(self))
        if self.sse_customer_key.get_secret_value() and self.sse_name not in {"", "AES256"}:
            yield ConfigProblem("s3.ssea.name", "With s3.sse.customer.key, s3.ssea.name is AES256 or empty.")
        yield from self._store_problems()
        yield from self._hdfs_problems()
        if self.wan_mode and self.store_url:
            yield ConfigProblem("s3.wan.mode", "s3.wan.mode is for Amazon's own endpoint; leave store.url out.")

    def _store_problems(self) -> Iterator[ConfigProblem]:
        yield from self._bucket_problems()
        if self.storage_class == AZURE_STORAGE and not self.azure_account:
            yield ConfigProblem("azblob.account.name", "AzureBlobStorage needs azblob.account.name.")
        given = [name for name in _AMAZONS_ALONE if self.originals.get(name)]
        if self.storage_class not in {S3_STORAGE, LOCAL_STORAGE}:
            yield from (
                ConfigProblem(name, f"{name} is Amazon's; {simple_name(self.storage_class)} has nothing like it.")
                for name in given
            )

    def _bucket_problems(self) -> Iterator[ConfigProblem]:
        if self.storage_class in {LOCAL_STORAGE, HDFS_STORAGE}:
            return
        try:
            bucket_name(self.bucket)
        except ValueError as error:
            name = self._bucket_key
            yield ConfigProblem(name, f"Invalid value {self.bucket} for configuration {name}: {error}")

    @property
    def _bucket_key(self) -> str:
        """Return the name of the setting that holds the bucket, which is another one in sinks for other stores."""
        return str(type(self).model_fields["bucket"].alias)

    def _hdfs_problems(self) -> Iterator[ConfigProblem]:
        if self.storage_class != HDFS_STORAGE:
            return
        if not self.store_url.startswith(("http://", "https://")):
            yield ConfigProblem(
                "store.url", "HdfsStorage needs the name node's web interface, such as http://namenode:9870."
            )
        if not self.bucket.startswith("/") or {".", ".."} & set(self.bucket.split("/")):
            yield ConfigProblem(self._bucket_key, "Of HdfsStorage this is the path of a folder, such as /lake.")
        if self.hdfs_user_name and self.hdfs_delegation_token.get_secret_value():
            yield ConfigProblem("hdfs.user.name", "A delegation token says who the user is; leave this out.")
        if self.proxy_url:
            yield ConfigProblem("s3.proxy.url", "HdfsStorage speaks to the nodes of HDFS themselves; leave this out.")

    @property
    def proxy(self) -> str:
        """Return the proxy's URL with user and password, as HTTP clients want it, or an empty text if there is no
        proxy.
        """
        if not self.proxy_url or not self.proxy_user:
            return self.proxy_url
        user, password = (quote(text, safe="") for text in (self.proxy_user, self.proxy_password.get_secret_value()))
        scheme, _, rest = self.proxy_url.rpartition("://")
        return f"{scheme or 'http'}://{user}:{password}@{rest.rpartition('@')[2]}"

    @property
    def tags(self) -> dict[str, str] | None:
        """Return the tags that all objects have, or None if objects have no tags."""
        return dict(pair.split(":", 1) for pair in self.tag_pairs) if self.tagging else None
