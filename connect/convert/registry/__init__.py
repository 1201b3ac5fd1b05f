"""Talks to a Confluent-compatible schema registry: client, subjects, and the frame that carries a schema's id."""
