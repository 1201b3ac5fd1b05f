"""Sends columns of records to Kafka."""
