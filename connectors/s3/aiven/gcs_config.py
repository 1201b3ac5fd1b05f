"""Declares the settings of Aiven's sink for Google's store, and translates them to those of this sink.

Source of names and defaults: GcsSinkConfig in Aiven's cloud-storage-connectors.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import SecretStr

from connect.api.allowed_paths import ALLOWED_PATHS
from connect.api.config import Boolean, Int, Long, Password, String, at_least, key, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.url import Url, UrlText
from connectors.s3.aiven.file_config import AivenFileConfig
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.other_stores import GcsSinkConfig

_WAITS: Final = "Waits double within s3.request.timeout.ms."


class AivenGcsSinkConfig(AivenFileConfig):
    """Holds Aiven's settings of its GCS sink."""

    without_effect = MappingProxyType({
        "gcs.user.agent": "Requests tell the name of this sink's client.",
        "gcs.metrics.class": "No Java class runs here; metrics are those of the worker.",
        "gcs.retry.backoff.max.delay.ms": _WAITS,
        "gcs.retry.backoff.delay.multiplier": _WAITS,
        "gcs.retry.backoff.total.timeout.ms": "s3.request.timeout.ms bounds a whole request.",
        "kafka.retry.backoff.ms": "The framework backs off inside errors.retry.timeout.",
    })  # fmt: skip

    bucket: Annotated[String, non_empty] = key(
        "gcs.bucket.name", harmless="a name in the store", doc="The bucket, which must exist.", importance="high",
        group="GCS",
    )  # fmt: skip
    endpoint: Url = key("gcs.endpoint", UrlText(""), doc="Another endpoint than Google's, as for a test.", group="GCS")
    credentials_path: String = key(
        "gcs.credentials.path", "", reach=Reach.FILE, group="GCS",
        doc="File of a service account's key (JSON) on the worker.",
    )  # fmt: skip
    credentials_json: Password = key("gcs.credentials.json", SecretStr(""), doc="Such a key itself.", group="GCS")
    credentials_default: Boolean = key(
        "gcs.credentials.default", False, group="GCS",
        doc="Whether the worker's own account is used; so it is too where no key is given, which goes without one in "
        "Java.",
    )  # fmt: skip
    content_encoding: String = key(
        "gcs.object.content.encoding", "", group="GCS", doc="Refused: objects have no Content-Encoding here.",
    )  # fmt: skip
    retries: Annotated[Int, at_least(0)] = key(
        "gcs.retry.backoff.max.attempts", 6, doc="How often a request is made again.", group="GCS"
    )
    backoff_ms: Annotated[Long, at_least(0)] = key(
        "gcs.retry.backoff.initial.delay.ms", 1000, doc="First wait before a request is made again.", group="GCS"
    )
    compression: Annotated[String, one_of("none", "gzip", "snappy", "zstd", ignore_case=True)] = key(
        "file.compression.type", "none", doc="Compression of files; inside those of Avro and Parquet.", group="File"
    )

    def named_files(self) -> Iterable[tuple[str, str]]:
        """Yield the file of the key with the setting that names it."""
        if self.credentials_path:
            yield "gcs.credentials.path", self.credentials_path

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what is wrong between keys."""
        yield from super().problems()
        given = {
            "gcs.credentials.path": bool(self.credentials_path), "gcs.credentials.default": self.credentials_default,
            "gcs.credentials.json": bool(self.credentials_json.get_secret_value()),
        }  # fmt: skip
        named = [name for name, is_given in given.items() if is_given]
        if len(named) > 1:
            yield ConfigProblem(named[0], f"Only one of {' and '.join(named)} may be given.")
        if self.content_encoding:
            yield ConfigProblem(
                "gcs.object.content.encoding", "gcs.object.content.encoding is not known here. Leave it out: the "
                "name's ending tells how an object is compressed.",
            )  # fmt: skip

    def settings(self) -> S3SinkConfig:
        """Return the settings of this sink that do the same, if it has such settings."""
        of_files = {name.replace("s3.", "gcs.", 1): value for name, value in self.file_settings().items()}
        return GcsSinkConfig.parse({
            **of_files, ALLOWED_PATHS: ",".join(self.allowed.paths), "gcs.bucket.name": self.bucket,
            "store.url": self.endpoint,
            "gcs.credentials.path": self.credentials_path,
            "gcs.credentials.json": self.credentials_json.get_secret_value(),
            "gcs.part.retries": str(self.retries), "gcs.retry.backoff.ms": str(self.backoff_ms),
        })  # fmt: skip
