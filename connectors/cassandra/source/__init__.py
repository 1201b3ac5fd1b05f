"""Holds the source that reads tables of Cassandra."""
