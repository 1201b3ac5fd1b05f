"""Transforms records as Confluent's own transforms do, under their class names and keys."""
