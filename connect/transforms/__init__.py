"""Holds Kafka Connect's transforms and predicates, and further ones; they work on columns, or else on rows."""
