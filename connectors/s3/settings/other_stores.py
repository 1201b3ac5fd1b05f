"""Declares the settings of Confluent's sinks for Google's, Azure's and HDFS's stores: the S3 sink's under other keys.

Source of names and defaults: the documentation of Confluent's GCS, Azure Blob Storage and HDFS 2 and 3 sinks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, ClassVar, Final
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr

from connect.api.allowed import OneOf
from connect.api.config import (
    Boolean,
    ClassName,
    Int,
    KeyDefinition,
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
from connectors.s3.formats.format_specs import AVRO_FORMAT, FORMATS, FormatSpec
from connectors.s3.settings.classes import AZURE_STORAGE, GCS_STORAGE, HDFS_STORAGE
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.settings.limits import any_package, one_class

_STORES: Final = ("s3.", "aws.", "gcs.", "azblob.", "hdfs.")
_HDFS_SCHEMES: Final = frozenset({"hdfs", "webhdfs"})


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL, or None if the text is no URL, which the check of its key reports."""
    try:
        found = urlsplit(url)
        _ = found.port  # A wrong port raises ValueError only when it is read.
    except ValueError:
        return None
    return found


def _check_hdfs(value: UrlText) -> UrlText:
    found = _split(value)
    if value and (found is None or found.scheme not in _HDFS_SCHEMES):
        raise ValueError("Give hdfs://host:port/folder; an address of HTTP is store.url")
    return value


class OtherStoreConfig(S3SinkConfig):
    """Holds the settings of a sink for one store, and shows no keys of other stores."""

    own: ClassVar[str]
    """This text is the beginning of the keys for this store."""
    ignored: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """These keys change nothing here; each has the reason."""

    @classmethod
    def definitions(cls) -> tuple[KeyDefinition, ...]:
        """Return every setting. Those for other stores are accepted and not shown."""
        others = tuple(name for name in _STORES if name != cls.own)
        return tuple(replace(d, internal=True) if d.name.startswith(others) else d for d in super().definitions())

    @classmethod
    def unknown_keys(cls, properties: Iterable[str]) -> Iterator[str]:
        """Return the keys that are neither declared nor among those accepted without effect."""
        return super().unknown_keys(name for name in properties if name not in cls.ignored)


class GcsSinkConfig(OtherStoreConfig):
    """Holds Confluent's settings of its GCS sink."""

    own = "gcs."
    ignored = MappingProxyType({"gcs.part.size": "An object is finished by one conditional PUT."})

    storage_class: Annotated[ClassName, BeforeValidator(any_package), one_class(GCS_STORAGE), OneOf((GCS_STORAGE,))] = (
        key("storage.class", GCS_STORAGE, doc="Google's store.", importance="low", group="GCS")
    )
    bucket: Annotated[String, non_empty] = key(
        "gcs.bucket.name", doc="The bucket, which must exist.", importance="high", group="GCS",
        harmless="a name in the store",
    )  # fmt: skip
    part_retries: Annotated[Int, at_least(0)] = key(
        "gcs.part.retries", 3, doc="Attempts after the first of one request.", group="GCS"
    )
    retry_backoff_ms: Annotated[Long, at_least(0)] = key(
        "gcs.retry.backoff.ms", 200, doc="First wait between these attempts; it doubles.", importance="low", group="GCS"
    )
    proxy_url: Url = key(
        "gcs.proxy.url", UrlText(""), doc="HTTP proxy for requests to the store.", importance="low", group="GCS"
    )
    proxy_user: String = key(
        "gcs.proxy.user", "", harmless="a name", doc="User of gcs.proxy.url.", importance="low", group="GCS"
    )
    proxy_password: Password = key(
        "gcs.proxy.password", SecretStr(""), harmless="a password", doc="Password of gcs.proxy.user.",
        importance="low", group="GCS",
    )  # fmt: skip
    compression_type: Annotated[String, one_of(*FormatSpec.codecs)] = key(
        "gcs.compression.type", "none", doc="Compression of JSON and byte files; zstd is ours.", group="Format"
    )
    compression_level: Annotated[Int, between(-1, 9)] = key(
        "gcs.compression.level", -1, doc="zlib's level; -1: its default.", importance="low", group="Format"
    )


class AzureBlobSinkConfig(OtherStoreConfig):
    """Holds Confluent's settings of its Azure Blob Storage sink."""

    own = "azblob."
    ignored = MappingProxyType({
        "azblob.block.size": "An object is finished by one conditional PUT.",
        "azblob.connection.timeout.ms": "s3.request.timeout.ms bounds a whole request.",
        "azblob.retry.type": "Waits double.",
        "azblob.retry.max.backoff.ms": "Waits double within s3.request.timeout.ms.",
        "azblob.retry.secondary.host": "One endpoint is asked.",
    })  # fmt: skip

    storage_class: Annotated[
        ClassName, BeforeValidator(any_package), one_class(AZURE_STORAGE), OneOf((AZURE_STORAGE,))
    ] = key("storage.class", AZURE_STORAGE, doc="Azure's blobs.", importance="low", group="Azure")
    bucket: Annotated[String, non_empty] = key(
        "azblob.container.name", "default", doc="The container, which must exist.", importance="high", group="Azure",
        harmless="a name in the store",
    )  # fmt: skip
    part_retries: Annotated[Int, at_least(0)] = key(
        "azblob.retry.retries", 3, doc="Attempts after the first of one request.", group="Azure"
    )
    retry_backoff_ms: Annotated[Long, at_least(0)] = key(
        "azblob.retry.backoff.ms", 4000, doc="First wait between these attempts; it doubles.", importance="low",
        group="Azure",
    )  # fmt: skip
    proxy_url: Url = key(
        "azblob.proxy.url", UrlText(""), doc="HTTP proxy for requests to the store.", importance="low", group="Azure"
    )
    compression_type: Annotated[String, one_of(*FormatSpec.codecs)] = key(
        "azblob.compression.type", "none", doc="Compression of JSON and byte files; zstd is ours.", group="Format"
    )
    compression_level: Annotated[Int, between(-1, 9)] = key(
        "azblob.compression.level", -1, doc="zlib's level; -1: its default.", importance="low", group="Format"
    )


class Hdfs3SinkConfig(OtherStoreConfig):
    """Holds Confluent's settings of its HDFS 3 sink, which writes by the name node's web interface."""

    own = "hdfs."
    web_port: ClassVar[int] = 9870
    """The name node's web interface has this port by default."""
    ignored = MappingProxyType({
        "hadoop.conf.dir": "The name node tells what a client has to know.",
        "hadoop.home": "No Java of Hadoop's is run.",
        "logs.dir": "No log is written ahead: a file comes to be by one renaming.",
        "hive.conf.dir": "As hadoop.conf.dir.",
        "hive.home": "As hadoop.home.",
        "hive.metastore.uris": "Only with hive.integration.",
        "hive.database": "Only with hive.integration.",
        "hive.table.name": "Only with hive.integration.",
        "connect.hdfs.principal": "Only with Kerberos.",
        "connect.hdfs.keytab": "Only with Kerberos.",
        "hdfs.namenode.principal": "Only with Kerberos.",
        "kerberos.ticket.renew.period.ms": "Only with Kerberos.",
    })  # fmt: skip

    storage_class: Annotated[
        ClassName, BeforeValidator(any_package), one_class(HDFS_STORAGE), OneOf((HDFS_STORAGE,))
    ] = key("storage.class", HDFS_STORAGE, doc="The store of HDFS.", importance="low", group="HDFS")
    format_class: Annotated[
        ClassName, BeforeValidator(any_package), one_class(*FORMATS), OneOf(tuple(FORMATS))
    ] = key("format.class", AVRO_FORMAT, doc="Format of the files.", importance="high", group="Format")  # fmt: skip
    store_url: Url = key(
        "store.url", UrlText(""),
        bounds="HTTP alone; Kerberos tickets are not sent there",
        doc="The name node, as hdfs://host:port/folder: its web interface is asked at webhdfs.url.", group="HDFS",
    )  # fmt: skip
    former_url: Annotated[Url, AfterValidator(_check_hdfs)] = key(
        "hdfs.url", UrlText(""),
        bounds="its host is asked over HTTP, at its port if it begins with webhdfs://; Kerberos tickets are not sent "
        "there",
        doc="Another name of store.url.", importance="low", group="HDFS",
    )  # fmt: skip
    web_url: Url = key(
        "webhdfs.url", UrlText(""), bounds="HTTP alone; Kerberos tickets are not sent there",
        doc="The name node's web interface; empty: on its host, at the port that Hadoop gives it.", group="HDFS",
    )  # fmt: skip
    bucket: Annotated[String, non_empty] = key(
        "hdfs.folder", "/", harmless="a folder of the store",
        doc="The folder in which topics.dir is made; the path of store.url where it has one.", group="HDFS",
    )  # fmt: skip
    kerberos: Boolean = key(
        "hdfs.authentication.kerberos", False, doc="Refused: give hdfs.delegation.token.", importance="low",
        group="HDFS",
    )  # fmt: skip
    hive: Boolean = key(
        "hive.integration",
        False,
        doc="No tables are made in Hive, which validation says.",
        importance="low",
        group="HDFS",
    )

    @classmethod
    def current_names(cls, properties: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the properties, with the name node's address replaced by that of its web interface."""
        named = super().current_names(properties)
        address = _split(named.get("store.url") or named.get("hdfs.url") or "")
        if address is not None and address.scheme in _HDFS_SCHEMES and address.hostname:
            host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
            # An address that begins with webhdfs:// has the port of the web interface already.
            port = (address.port if address.scheme == "webhdfs" else None) or cls.web_port
            named["store.url"] = named.get("webhdfs.url") or f"http://{host}:{port}"
            if address.path.strip("/"):
                named.setdefault("hdfs.folder", address.path.rstrip("/"))
        return named

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what is wrong between keys, and the settings that this sink cannot obey."""
        yield from super().problems()
        if self.kerberos:
            yield ConfigProblem(
                "hdfs.authentication.kerberos",
                "No Kerberos tickets are sent to HDFS here. Leave it out, and give hdfs.delegation.token.",
            )

    def notes(self) -> Iterable[ConfigProblem]:
        """Yield the notes of the S3 sink, and notes on what is not done in Hive."""
        yield from super().notes()
        if self.hive:
            yield ConfigProblem(
                "hive.integration",
                "No tables are made in Hive, and no partitions are added there: declare an external table over "
                "topics.dir and run MSCK REPAIR TABLE, or write Iceberg tables with iceberg.catalog.type=hive.",
            )


class HdfsSinkConfig(Hdfs3SinkConfig):
    """Holds Confluent's settings of its HDFS 2 sink."""

    web_port = 50070
