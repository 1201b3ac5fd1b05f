"""Builds a worker from its configuration."""
