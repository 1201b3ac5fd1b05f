"""Holds names and places of objects."""
