"""Runs Kafka, a schema registry, S3, databases and a worker on loopback for `connect dev`, and keeps their data."""
