"""Records into tables of SQL databases, by topics or a backfill's chunks."""
