"""Runs Kafka Connect in Python: Connect for Kafka."""

__version__ = "0.1.0"
