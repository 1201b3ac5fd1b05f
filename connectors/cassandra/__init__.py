"""The Cassandra connectors: whole tables by token ranges, and every change from a node's commit log."""
