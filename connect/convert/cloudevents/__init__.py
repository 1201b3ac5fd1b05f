"""Wraps change events in CloudEvents, as Debezium's converter does."""
