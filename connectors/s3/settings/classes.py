"""Declares names that modules and configurations share: class names of partitioners and storages."""

from __future__ import annotations

from typing import Final

from connectors.s3.formats.format_specs import FORMATS

_PARTITIONER = "io.confluent.connect.storage.partitioner."
DEFAULT_PARTITIONER: Final = f"{_PARTITIONER}DefaultPartitioner"
FIELD_PARTITIONER: Final = f"{_PARTITIONER}FieldPartitioner"
TIME_PARTITIONER: Final = f"{_PARTITIONER}TimeBasedPartitioner"
HOURLY_PARTITIONER: Final = f"{_PARTITIONER}HourlyPartitioner"
DAILY_PARTITIONER: Final = f"{_PARTITIONER}DailyPartitioner"
FIELD_AND_TIME_PARTITIONER: Final = "com.canelmas.kafka.connect.FieldAndTimeBasedPartitioner"
"""This partitioner of other authors is named in many configurations, and built into this sink."""
PARTITIONERS: Final = (
    DEFAULT_PARTITIONER, FIELD_PARTITIONER, TIME_PARTITIONER, HOURLY_PARTITIONER, DAILY_PARTITIONER,
    FIELD_AND_TIME_PARTITIONER,
)  # fmt: skip
TIME_PARTITIONERS: Final = frozenset({
    TIME_PARTITIONER, HOURLY_PARTITIONER, DAILY_PARTITIONER, FIELD_AND_TIME_PARTITIONER,
})  # fmt: skip
S3_STORAGE: Final = "io.confluent.connect.s3.storage.S3Storage"
LOCAL_STORAGE: Final = "connect.s3.LocalStorage"
GCS_STORAGE: Final = "connect.s3.GcsStorage"
AZURE_STORAGE: Final = "connect.s3.AzureBlobStorage"
HDFS_STORAGE: Final = "connect.s3.HdfsStorage"
STORAGES: Final = (S3_STORAGE, LOCAL_STORAGE, GCS_STORAGE, AZURE_STORAGE, HDFS_STORAGE)
"""These are the storage classes that can be named. All except the first one are this sink's own names."""
FOLDER_STORAGES: Final = frozenset({LOCAL_STORAGE, HDFS_STORAGE})
"""Stores of these classes have folders, which stay when the files in them are deleted."""
CREDENTIALS: Final = {
    S3_STORAGE: ("aws.access.key.id", "aws.secret.access.key"),
    LOCAL_STORAGE: ("s3.bucket.name",),
    GCS_STORAGE: ("gcs.credentials.path", "gcs.credentials.json"),
    AZURE_STORAGE: ("azblob.account.key", "azblob.sas.token"),
    HDFS_STORAGE: ("hdfs.user.name", "hdfs.delegation.token"),
}
"""Maps storage classes to the settings to look at if the store refuses access."""
DEFAULT_CREDENTIALS: Final = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"


def simple_name(class_name: str) -> str:
    """Return the name of a class without its package."""
    return class_name.rpartition(".")[2]


def known_class(name: str) -> str:
    """Return the full name of the known class that has the same simple name; the name itself if there is none.

    Forks and older versions keep the simple names of classes and change their packages.
    """
    known = {simple_name(own): own for own in (*FORMATS, *PARTITIONERS, *STORAGES)}
    return known.get(simple_name(name), name)
