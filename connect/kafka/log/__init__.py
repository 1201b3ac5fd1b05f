"""Holds compacted internal topics: read whole, followed, written."""
