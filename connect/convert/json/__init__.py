"""Holds Kafka Connect's JsonConverter over columns, byte for byte."""
