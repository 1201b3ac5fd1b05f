"""Holds the JDBC source and sink, and Debezium's sources for PostgreSQL, MySQL and MariaDB."""
