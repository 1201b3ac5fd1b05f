"""Transforms records in the ways of Confluent's own transforms, by its class names and keys."""
