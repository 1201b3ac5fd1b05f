"""Reads records from Kafka as columns."""
