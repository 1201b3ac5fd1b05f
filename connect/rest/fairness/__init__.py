"""Keeps the requests of some clients from delaying those of others."""
