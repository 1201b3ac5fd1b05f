"""Writes batches into tables, in each of the ways that settings choose."""
