"""Holds the transforms that read, convert and insert times."""
