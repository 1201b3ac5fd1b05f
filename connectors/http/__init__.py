"""Sinks that write to what speaks HTTP: any API, Elasticsearch, OpenSearch."""
