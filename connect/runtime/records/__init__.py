"""Batches between connector and Kafka: transforms, converters, bad rows, dead letters."""
