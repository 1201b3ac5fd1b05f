"""Holds records as rows and columns of BigQuery."""
