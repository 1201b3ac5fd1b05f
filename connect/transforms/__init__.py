"""Kafka Connect's built-in transforms and predicates over columns, with rows where columns cannot hold the data."""
