"""The JDBC source: tables and queries of any SQL database as topics."""
