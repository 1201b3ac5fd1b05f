"""Cassandra's commit log as bytes: segments, sections, mutations. Versions 7 (4.x) and 8 (5.0). Pure."""
