"""Reads tables again, chunk by chunk, while the log is read, if signals ask for it, as in Debezium."""
