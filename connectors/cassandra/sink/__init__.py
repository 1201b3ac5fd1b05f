"""The Cassandra sink: writes the rows of topics, or of a whole backfill, into tables."""
