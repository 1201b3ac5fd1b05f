"""Real services on loopback, without containers: for the demo, the PoC, benchmarks and tests."""

from connect.services.errors import (
    ArtifactError,
    JavaNotFoundError,
    PortTakenError,
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
    "JavaNotFoundError",
    "KafkaEndpoint",
    "KafkaService",
    "PortTakenError",
    "RegistryEndpoint",
    "S3Endpoint",
    "SchemaRegistryService",
    "SeaweedS3Service",
    "Service",
    "ServiceError",
    "ServiceStartError",
    "ServiceTimeoutError",
]
