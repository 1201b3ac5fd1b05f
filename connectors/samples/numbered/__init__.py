"""Makes rows that are numbered, by the names of Kafka's own connectors for tests."""
