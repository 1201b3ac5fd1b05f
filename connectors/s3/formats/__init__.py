"""Holds the formats in which files are written, joined and read."""
