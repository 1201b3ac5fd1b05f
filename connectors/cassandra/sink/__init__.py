"""Holds the sink, which writes the rows of topics, or of a whole backfill, into tables of Cassandra."""
