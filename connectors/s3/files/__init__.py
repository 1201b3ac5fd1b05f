"""Keeps the files of a topic partition, from their first row until they are objects."""
