"""Converts Arrow columns or Python rows to the bytes of Kafka Connect's converters, and back."""
