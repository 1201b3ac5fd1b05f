"""How Kafka clients are configured, and what their errors mean."""
