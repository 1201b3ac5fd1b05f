"""Serves Kafka Connect's REST API over `connect.cluster.model.operations`: a module per resource, no connector code or
Kafka.

The event loop never waits for anything but sockets and futures: what may block runs elsewhere (`waiting.apart`).
"""
