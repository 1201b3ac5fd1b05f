"""Builds the parts of a task from its configuration."""
