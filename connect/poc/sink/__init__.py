"""Holds the checks of a sink."""
