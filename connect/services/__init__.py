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
from connect.services.s3 import S3Endpoint, SeaweedS3Service
from connect.services.service import Service

__all__ = [
    "ArtifactError",
    "JavaNotFoundError",
    "KafkaEndpoint",
    "KafkaService",
    "PortTakenError",
    "S3Endpoint",
    "SeaweedS3Service",
    "Service",
    "ServiceError",
    "ServiceStartError",
    "ServiceTimeoutError",
]
