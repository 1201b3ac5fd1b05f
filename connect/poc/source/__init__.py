"""Checks a source."""
