"""Holds the resources of the REST API."""
