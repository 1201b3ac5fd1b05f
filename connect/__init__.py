"""Connect for Kafka: Kafka Connect in Python."""

__version__ = "0.1.0"
