"""Offers Debezium's PostgreSQL connector by its own name and keys: the readers of mode=log do the work."""
