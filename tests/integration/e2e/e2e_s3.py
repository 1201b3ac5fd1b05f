"""Reads what the sink wrote to S3 with plain clients."""

from __future__ import annotations

from typing import Any

import pyarrow.dataset as ds
from pyarrow.fs import FileSelector, S3FileSystem

from connect.tools.services import S3Endpoint

_NEWEST = 6
"""This many objects are enough: two partitions may each have an object of the same second."""


def file_system(s3: S3Endpoint) -> S3FileSystem:
    return S3FileSystem(
        endpoint_override=s3.url, access_key=s3.access_key_id, secret_key=s3.secret_access_key, region=s3.region
    )


def rows_of(s3: S3Endpoint, bucket: str, folder: str) -> list[dict[str, Any]]:
    """Return all rows of all Parquet objects below a folder."""
    files = file_system(s3)
    path = f"{bucket}/{folder}"
    if not files.get_file_info(FileSelector(path, recursive=True, allow_not_found=True)):
        return []
    return ds.dataset(path, filesystem=files, format="parquet").to_table().to_pylist()


def newest_rows_of(s3: S3Endpoint, bucket: str, folder: str) -> list[dict[str, Any]]:
    """Return the rows of the objects that were written last, which suffices to see rows flow."""
    files = file_system(s3)
    found = files.get_file_info(FileSelector(f"{bucket}/{folder}", recursive=True, allow_not_found=True))
    newest = sorted((info for info in found if info.is_file), key=lambda info: info.mtime)[-_NEWEST:]
    return [
        row
        for info in newest
        for row in ds.dataset(info.path, filesystem=files, format="parquet").to_table().to_pylist()
    ]


def objects_of(s3: S3Endpoint, bucket: str, folder: str) -> set[str]:
    """Return the paths of all objects below a folder."""
    found = file_system(s3).get_file_info(FileSelector(f"{bucket}/{folder}", recursive=True, allow_not_found=True))
    return {info.path for info in found if info.is_file}


def sink_config(s3: S3Endpoint, bucket: str, folder: str, topics: str, **more: str) -> dict[str, str]:
    """Return the configuration of a Parquet sink that writes its rows at every flush."""
    return {
        "connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": topics, "topics.dir": folder,
        "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat", "flush.size": "100000",
        "rotate.schedule.interval.ms": "500", "timezone": "UTC", "store.url": s3.url, "s3.bucket.name": bucket,
        "s3.region": s3.region, "aws.access.key.id": s3.access_key_id, "aws.secret.access.key": s3.secret_access_key,
        "offset.flush.interval.ms": "500", "tasks.max": "1", **more,
    }  # fmt: skip
