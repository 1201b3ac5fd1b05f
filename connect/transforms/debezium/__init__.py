"""Transforms change events in the ways of Debezium, by its class names and keys."""
