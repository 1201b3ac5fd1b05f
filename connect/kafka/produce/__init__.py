"""Writes columns of records into Kafka."""
