"""What a worker asks of connectors and of Kafka inside of a task host."""
