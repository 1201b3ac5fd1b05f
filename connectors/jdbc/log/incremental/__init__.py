"""Reads tables again, chunk by chunk, while the log is read: what signals ask for, as in Debezium."""
