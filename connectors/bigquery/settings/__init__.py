"""Holds the settings of the BigQuery sink."""
