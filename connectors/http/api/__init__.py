"""Sends records to an HTTP API, as the HTTP sinks of Confluent and Aiven do."""
