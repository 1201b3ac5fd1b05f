"""Declares the settings of the source of data files. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final
from urllib.parse import urlsplit

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
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach
from connect.api.time_types import TimePrecision
from connect.api.url import Url, UrlText
from connect.lib.cloud_names import bucket_name, region_name
from connect.lib.key_role import KeyRole
from connectors.file.config import paths_key

S3: Final = "s3://"
TYPES: Final = (
    "int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "date", "timestamp",
)  # fmt: skip
_FILES: Final = "Files"
_CSV: Final = "CSV"
_STORE: Final = "S3"


def _check_bucket(value: str) -> str:
    if value.startswith(S3):
        bucket_name(value.removeprefix(S3).partition("/")[0])
    return value


class DataFilesSourceConfig(ConnectorConfig):
    """Declares which files are read, in which format, and into which topic."""

    paths: ListOf = paths_key()
    folder: Annotated[String, non_empty, AfterValidator(_check_bucket)] = key(
        "folder",
        reach=Reach.FILE, bounds="as any folder, or a bucket of S3",
        doc="The folder of the files, all below it included: a path, or s3://bucket/prefix.",
        importance="high", group=_FILES,
    )  # fmt: skip
    files: Annotated[String, non_empty] = key(
        "files", "*",
        harmless="a pattern of names below the folder",
        doc="Which of them: a pattern with * and ? of the path below the folder. Names that begin with . "
        "or _ are left out.", importance="medium", group=_FILES,
    )  # fmt: skip
    format: Annotated[String, one_of("parquet", "csv", "json")] = key(
        "format", doc="What is in them; json: one value per line.", importance="high", group=_FILES
    )
    topic: Annotated[String, non_empty] = key("topic", doc="The topic the rows go to.", importance="high", group=_FILES)
    batch_max_rows: Annotated[Int, at_least(1)] = key(
        "batch.max.rows", 1000, doc="The most rows of a batch.", importance="low", group=_FILES, role=KeyRole.PAGE_ROWS
    )
    poll_interval_ms: Annotated[Long, at_least(1)] = key(
        "poll.interval.ms", 5000, doc="How often the folder is looked at for new files.", group=_FILES
    )
    time_precision_mode: Annotated[String, one_of(*TimePrecision)] = key(
        "time.precision.mode", TimePrecision.ADAPTIVE.value, doc="What dates and times of Parquet files become: "
        "connect (milliseconds; finer ones are refused), or types that keep microseconds and nanoseconds.",
        importance="low", group=_FILES,
    )  # fmt: skip

    csv_delimiter: String = key(
        "csv.delimiter", ",", doc="Between two values; tab for a tab.", importance="low", group=_CSV
    )
    csv_header: Boolean = key(
        "csv.header", True, doc="The first line of each file names its columns.", importance="low", group=_CSV
    )
    csv_columns: ListOf = key(
        "csv.columns",
        (),
        harmless="names of columns",
        doc="The columns of files without such a line.",
        importance="low",
        group=_CSV,
    )
    csv_multiline: Boolean = key(
        "csv.multiline", False, doc="Values in quotes may hold line ends. A backfill then reads each file by one lane.",
        importance="low", group=_CSV,
    )  # fmt: skip
    csv_types: ListOf = key(
        "csv.types", (), doc="Types of columns as column:type, such as id:int64; others are text. "
        f"Types: {', '.join(TYPES)}.", importance="medium", group=_CSV,
    )  # fmt: skip

    region: Annotated[String, AfterValidator(region_name)] = key(
        "s3.region", "us-west-2", doc="The bucket's AWS region.", importance="low", group=_STORE
    )
    store_url: Url = key(
        "store.url", UrlText(""), doc="Endpoint of an S3-compatible store; empty: AWS.", importance="low", group=_STORE
    )
    access_key_id: String = key(
        "aws.access.key.id", "", doc="Access key. Empty: the default chain of AWS.", importance="low", group=_STORE
    )
    secret_access_key: Password = key(
        "aws.secret.access.key", SecretStr(""), doc="Secret of aws.access.key.id.", importance="low", group=_STORE
    )

    @property
    def is_s3(self) -> bool:
        """Return True if the folder is in a bucket."""
        return self.folder.startswith(S3)

    @property
    def column_types(self) -> dict[str, str]:
        """Return the types that csv.types gives, by column."""
        return {name: kind for name, _, kind in (pair.rpartition(":") for pair in self.csv_types)}

    def named_files(self) -> Iterable[tuple[str, str]]:
        """Return the folder with its key, if it is a folder of this machine."""
        return () if self.is_s3 else (("folder", self.folder),)

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield what is wrong between keys."""
        yield from self._csv_problems()
        if not self._names_one_store():
            yield ConfigProblem("store.url", "store.url is one address, such as http://host:8333.")
        if bool(self.access_key_id) != bool(self.secret_access_key.get_secret_value()):
            name = "aws.secret.access.key" if self.access_key_id else "aws.access.key.id"
            yield ConfigProblem(name, "aws.access.key.id and aws.secret.access.key go together; set both or none.")

    @property
    def delimiter(self) -> str:
        """Return what stands between two values. A tab is written as a word, as white space around a setting is cut."""
        return "\t" if self.csv_delimiter == "tab" else self.csv_delimiter

    @property
    def endpoint(self) -> tuple[str, str]:
        """Return the protocol of store.url, https where it has none, and its host with port and path."""
        url = self.store_url if "://" in self.store_url else f"https://{self.store_url}"
        parts = urlsplit(url)
        return parts.scheme, f"{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")

    def _names_one_store(self) -> bool:
        """Return True if store.url is empty or names one host; of two, the worker and the client may take others."""
        try:
            _ = urlsplit(f"//{self.endpoint[1]}").port
        except ValueError:
            return False
        return self.store_url.count("://") <= 1

    def _csv_problems(self) -> Iterator[ConfigProblem]:
        if len(self.delimiter) != 1:
            yield ConfigProblem("csv.delimiter", "csv.delimiter is one character, such as , or ; or the word tab")
        if self.format == "csv" and not self.csv_header and not self.csv_columns:
            yield ConfigProblem("csv.columns", "Files without a header need csv.columns, as id,name.")
        wrong = [pair for pair in self.csv_types if pair.rpartition(":")[2] not in TYPES or not pair.rpartition(":")[0]]
        if wrong:
            yield ConfigProblem(
                "csv.types", f"Write column:type with a type of {', '.join(TYPES)}, not {', '.join(wrong)}."
            )
