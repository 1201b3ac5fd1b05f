"""Declares the settings of Aiven's S3 sink, and translates them to the settings of this sink. Values only.

Source of names and defaults: S3SinkConfig and the fragments of commons in Aiven's cloud-storage-connectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Final, Self

from pydantic import AfterValidator, SecretStr

from connect.api.config import (
    ClassName,
    Int,
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
from connect.api.url import Url, UrlText
from connect.lib.cloud_names import bucket_name, region_name
from connectors.s3.aiven.file_config import AivenFileConfig
from connectors.s3.settings.classes import DEFAULT_CREDENTIALS
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.limits import credentials_class

_FORMER_NAMES: Final = {
    "aws_access_key_id": "aws.access.key.id", "aws_secret_access_key": "aws.secret.access.key",
    "aws_s3_bucket": "aws.s3.bucket.name", "aws_s3_endpoint": "aws.s3.endpoint", "aws_s3_region": "aws.s3.region",
    "aws_s3_prefix": "aws.s3.prefix", "output_compression": "file.compression.type",
    "output_fields": "format.output.fields", "timestamp.timezone": "file.name.timestamp.timezone",
    "timestamp.source": "file.name.timestamp.source",
}  # fmt: skip
_WITHOUT_EFFECT: Final[Mapping[str, str]] = MappingProxyType({
    "aws.s3.part.size.bytes": "An object is finished by one conditional PUT.",
    "aws.s3.backoff.max.delay.ms": "The first wait doubles within s3.request.timeout.ms.",
    "kafka.retry.backoff.ms": "The framework backs off inside errors.retry.timeout.",
})  # fmt: skip
_ROLE: Final = "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider"


class AivenS3SinkConfig(AivenFileConfig):
    """Declares the settings of Aiven's S3 sink under Aiven's keys."""

    without_effect = _WITHOUT_EFFECT

    bucket: Annotated[String, non_empty, AfterValidator(bucket_name)] = key(
        "aws.s3.bucket.name", harmless="a name in the store", doc="The bucket.", importance="high", group="S3"
    )
    region: Annotated[String, AfterValidator(region_name)] = key(
        "aws.s3.region", "us-east-1", doc="The bucket's AWS region.", group="S3"
    )
    endpoint: Url = key("aws.s3.endpoint", UrlText(""), doc="Endpoint of an S3-compatible store.", group="S3")
    access_key_id: Password = key("aws.access.key.id", SecretStr(""), doc="Access key.", group="S3")
    secret_access_key: Password = key("aws.secret.access.key", SecretStr(""), doc="Its secret.", group="S3")
    credentials_provider: Annotated[ClassName, credentials_class] = key(
        "aws.credentials.provider", DEFAULT_CREDENTIALS, doc="Where keys come from where none are given.", group="S3"
    )
    role_arn: String = key("aws.sts.role.arn", "", doc="A role to assume.", group="S3")
    role_session_name: String = key("aws.sts.role.session.name", "", doc="The name of its sessions.", group="S3")
    role_external_id: String = key("aws.sts.role.external.id", "", doc="The external id it asks for.", group="S3")
    role_session_s: Annotated[Int, between(900, 43_200)] = key(
        "aws.sts.role.session.duration", 3600, doc="Seconds of a session.", group="S3"
    )
    sts_endpoint: Url = key("aws.sts.config.endpoint", UrlText(""), doc="Endpoint of STS.", group="S3")
    sse: Annotated[String, one_of("", "AES256", "aws:kms")] = key(
        "aws.s3.sse.algorithm", "", doc="Encryption at rest that S3 is asked for.", group="S3"
    )
    backoff_ms: Annotated[Long, at_least(1)] = key(
        "aws.s3.backoff.delay.ms", 100, doc="First wait before a request is made again.", group="S3"
    )
    retries: Annotated[Int, between(1, 30)] = key(
        "aws.s3.backoff.max.retries", 3, doc="How often a request is made again.", group="S3"
    )
    prefix: String = key(
        "aws.s3.prefix", "",
        harmless="a part of an object's key",
        doc="What names begin with where there is no file.name.template; may have variables.",
        group="File",
    )  # fmt: skip

    @classmethod
    def parse(cls, properties: Mapping[str, str | None]) -> Self:
        """Parse as `Config.parse` does. The former name of a key counts if its present name is not given."""
        former = {_FORMER_NAMES[name]: value for name, value in properties.items() if name in _FORMER_NAMES}
        return super().parse({**former, **properties})

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[str]:
        """Return the keys that are neither declared, nor former names, nor without effect."""
        return super().unknown_keys(name for name in properties if name not in _FORMER_NAMES)

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what is wrong between keys."""
        yield from super().problems()
        if bool(self.role_arn) != bool(self.role_session_name):
            yield ConfigProblem("aws.sts.role.arn", "aws.sts.role.arn and aws.sts.role.session.name go together.")

    @property
    def default_names(self) -> str:
        """Return the template that counts if none is given.

        Its offsets are padded, as in versions without templates.
        """
        return f"{self.prefix}{{{{topic}}}}-{{{{partition}}}}-{{{{start_offset:padding=true}}}}"

    def settings(self) -> S3SinkConfig:
        """Return the settings of this sink that do the same, if it has such settings."""
        role = {
            "s3.credentials.provider.class": _ROLE, "s3.credentials.provider.sts.role.arn": self.role_arn,
            "s3.credentials.provider.sts.role.session.name": self.role_session_name,
            "s3.credentials.provider.sts.role.external.id": self.role_external_id,
            "s3.credentials.provider.sts.role.session.duration": str(self.role_session_s),
            "s3.credentials.provider.sts.endpoint": self.sts_endpoint,
        }  # fmt: skip
        return S3SinkConfig.parse({
            "s3.bucket.name": self.bucket, "s3.region": self.region, "store.url": self.endpoint,
            "aws.access.key.id": self.access_key_id.get_secret_value(),
            "aws.secret.access.key": self.secret_access_key.get_secret_value(),
            "s3.credentials.provider.class": self.credentials_provider, **(role if self.role_arn else {}),
            "s3.ssea.name": self.sse, "s3.part.retries": str(self.retries), "s3.retry.backoff.ms": str(self.backoff_ms),
            **self.file_settings(),
        })  # fmt: skip
