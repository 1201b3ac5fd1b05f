"""Estimates, charts and the report of an evaluation."""
