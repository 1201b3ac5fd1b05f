"""The copies of a change that the replicas' agents send -> one event."""
