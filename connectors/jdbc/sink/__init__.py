"""Writes records into tables of SQL databases, from topics or from a backfill's chunks."""
