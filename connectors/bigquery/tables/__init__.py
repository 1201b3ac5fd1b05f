"""Checks, creates and widens tables of BigQuery."""
