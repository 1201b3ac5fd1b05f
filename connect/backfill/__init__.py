"""Bulk backfill: a source's rows into Kafka, each once, by chunks that any engine runs; then its connector goes on."""
