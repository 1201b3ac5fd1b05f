"""Reads the internal topics of a cluster and writes to them."""
