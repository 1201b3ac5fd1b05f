"""Read tables and queries of any SQL database into topics: the JDBC source."""
