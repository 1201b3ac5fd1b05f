"""Reads bytes of MariaDB's and MySQL's binary log into events, rows and values."""
