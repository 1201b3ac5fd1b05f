"""Many tasks on many workers: what should run where, and the stores in Kafka that everyone agrees on."""
