"""Reads tables in bulk under mode=log."""
