"""Holds the checks of a source."""
