"""Makes the settings of Kafka clients, and translates their errors."""
