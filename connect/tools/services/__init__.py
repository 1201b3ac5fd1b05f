"""Real services on loopback, without containers: for the demo, the PoC, benchmarks and tests."""

from connect.services.bigquery import BigQueryEndpoint, BigQueryService
from connect.services.errors import (
    ArtifactError,
    JavaNotFoundError,
    PortTakenError,
    PythonNotFoundError,
    ServiceError,
    ServiceStartError,
    ServiceTimeoutError,
)
from connect.services.kafka import KafkaEndpoint, KafkaService
from connect.services.registry import RegistryEndpoint, SchemaRegistryService
from connect.services.s3 import S3Endpoint, SeaweedS3Service
from connect.services.service import Service

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
