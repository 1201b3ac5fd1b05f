"""Write the rows of topics, or of a whole backfill, into tables of Cassandra."""
