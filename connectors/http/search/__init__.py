"""Writes records as documents into Elasticsearch and OpenSearch."""
