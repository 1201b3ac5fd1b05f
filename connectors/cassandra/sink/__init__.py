"""Rows into tables, one by one from topics or a table at once."""
