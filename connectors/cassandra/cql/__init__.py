"""Holds Cassandra's types, schemas, statements and connection."""
