"""Follows a table by its keys and times, from stored offsets on."""
