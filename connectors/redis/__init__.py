"""Writes records into Redis."""
