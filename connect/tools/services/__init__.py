"""Provides real services on loopback, without containers: for the demo, the PoC, benchmarks and tests."""

from connect.tools.services.bigquery import BigQueryEndpoint, BigQueryService
from connect.tools.services.kafka import KafkaEndpoint, KafkaService
from connect.tools.services.process.errors import (
    ArtifactError,
    JavaNotFoundError,
    PortTakenError,
    PythonNotFoundError,
    ServiceError,
    ServiceStartError,
    ServiceTimeoutError,
)
from connect.tools.services.process.service import Service
from connect.tools.services.registry import RegistryEndpoint, SchemaRegistryService
from connect.tools.services.s3 import S3Endpoint, SeaweedS3Service

__all__ = [
    "ArtifactError",
    "BigQueryEndpoint",
    "BigQueryService",
    "JavaNotFoundError",
    "KafkaEndpoint",
    "KafkaService",
    "PortTakenError",
    "PythonNotFoundError",
    "RegistryEndpoint",
    "S3Endpoint",
    "SchemaRegistryService",
    "SeaweedS3Service",
    "Service",
    "ServiceError",
    "ServiceStartError",
    "ServiceTimeoutError",
]
