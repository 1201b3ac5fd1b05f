"""Holds sinks that write by HTTP: to any API, Elasticsearch and OpenSearch."""
