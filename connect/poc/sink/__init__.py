"""Checks a sink."""
