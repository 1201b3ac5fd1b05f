"""Reads compacted internal topics whole, follows them, and writes to them."""
