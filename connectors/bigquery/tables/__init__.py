"""Holds tables of BigQuery: checked, made and widened."""
