"""Holds the life of a sink task."""
