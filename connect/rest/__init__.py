"""Serves Kafka Connect's REST API over `connect.cluster.model.operations`: a module per resource, no connector code or
Kafka.

The event loop waits for sockets and futures only. Calls that may block run on other threads (`waiting.apart`).
"""
