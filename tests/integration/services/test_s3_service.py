from pathlib import Path
from typing import Any

import boto3
import psutil
import pytest
from botocore.exceptions import ClientError

from connect.tools.services import S3Endpoint, SeaweedS3Service, ServiceError


def test_what_is_put_can_be_got(s3: S3Endpoint, s3_bucket: str, unique: str) -> None:
    client = boto3_client(s3)
    client.put_object(Bucket=s3_bucket, Key=unique, Body=b"hello")
    assert client.get_object(Bucket=s3_bucket, Key=unique)["Body"].read() == b"hello"


def test_a_conditional_put_over_an_object_is_refused(s3: S3Endpoint, s3_bucket: str, unique: str) -> None:
    client = boto3_client(s3)
    client.put_object(Bucket=s3_bucket, Key=unique, Body=b"first", IfNoneMatch="*")
    with pytest.raises(ClientError) as refused:
        client.put_object(Bucket=s3_bucket, Key=unique, Body=b"second", IfNoneMatch="*")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412


def test_a_wrong_secret_is_refused(s3: S3Endpoint) -> None:
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        boto3_client(S3Endpoint(url=s3.url, access_key_id=s3.access_key_id, secret_access_key="no")).list_buckets()


def test_a_bucket_that_was_not_created_does_not_exist(s3: S3Endpoint, unique: str) -> None:
    with pytest.raises(ClientError, match="NoSuchBucket"):
        boto3_client(s3).put_object(Bucket=unique, Key="key", Body=b"")


def test_a_bucket_may_be_created_again_but_needs_a_valid_name(s3_service: SeaweedS3Service, s3_bucket: str) -> None:
    s3_service.create_bucket(s3_bucket)
    with pytest.raises(ServiceError, match="Bucket 'NO' was not created"):
        s3_service.create_bucket("NO")


def test_a_killed_store_comes_back_on_the_same_port_with_its_objects_and_keys(tmp_path: Path) -> None:
    with SeaweedS3Service(data_folder=tmp_path) as service:
        before, pid = service.endpoint, service.pid
        service.create_bucket("kept")
        boto3_client(before).put_object(Bucket="kept", Key="key", Body=b"kept")

        service.kill()
        assert pid is not None
        assert not psutil.pid_exists(pid)
        assert service.start() == before

        assert boto3_client(before).get_object(Bucket="kept", Key="key")["Body"].read() == b"kept"


def test_a_kept_folder_serves_the_same_objects_on_other_ports(tmp_path: Path) -> None:
    with SeaweedS3Service(data_folder=tmp_path) as first:
        first.create_bucket("kept")
        boto3_client(first.endpoint).put_object(Bucket="kept", Key="key", Body=b"kept")
        first.kill()
    with SeaweedS3Service(data_folder=tmp_path) as second:
        assert second.endpoint.url != first.endpoint.url
        assert boto3_client(second.endpoint).get_object(Bucket="kept", Key="key")["Body"].read() == b"kept"


def boto3_client(endpoint: S3Endpoint) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=endpoint.url,
        aws_access_key_id=endpoint.access_key_id,
        aws_secret_access_key=endpoint.secret_access_key,
        region_name=endpoint.region,
    )
