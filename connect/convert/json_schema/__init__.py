"""Provides JSON Schema with a schema registry: schemas of drafts 4 to 2020-12, values as plain JSON."""
