"""Brings a source's rows into Kafka, each once, in chunks that any engine runs; then the connector goes on.

This is a bulk backfill. Some kinds of it copy rows into a sink instead.
"""
