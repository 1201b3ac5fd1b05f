"""Transforms of moments."""
