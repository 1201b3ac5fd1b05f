"""Finds what statements of MariaDB and MySQL do to the columns of tables. Pure."""
