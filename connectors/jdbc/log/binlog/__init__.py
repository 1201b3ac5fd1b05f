"""Holds the binary log of MariaDB and MySQL as bytes and values."""
