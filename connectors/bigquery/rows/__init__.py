"""Turns records into rows and columns of BigQuery."""
