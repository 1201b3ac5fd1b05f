"""Makes calls to Kafka's admin API."""
