"""Kafka Connect's REST API over `connect.cluster.operations`: one module per resource, no connector code, no Kafka.

The event loop never waits for anything but sockets and futures: what may block runs elsewhere (`waiting.apart`).
"""
