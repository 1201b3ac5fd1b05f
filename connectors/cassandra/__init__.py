"""Holds the Cassandra connectors: they read whole tables by token ranges, and every change from a node's commit log."""
