"""Runs a sink task: it reads from Kafka, puts batches into the connector, flushes and commits."""
