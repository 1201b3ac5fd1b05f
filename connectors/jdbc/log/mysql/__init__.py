"""Holds mode=log on MariaDB and MySQL."""
