"""Calls to Kafka's admin API."""
