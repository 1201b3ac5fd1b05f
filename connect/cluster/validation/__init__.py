"""Validates the configuration of a connector."""
