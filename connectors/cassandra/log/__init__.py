"""Reads Cassandra's commit log: segments, sections and mutations of versions 7 (4.x) and 8 (5.0)."""
