"""Takes batches from connector to Kafka and back: transforms, converters, bad rows, dead letters."""
