"""Segments of the commit log: found, read, and deleted once they are sent."""
