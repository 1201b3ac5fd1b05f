"""Keeps what some clients ask for from holding up others."""
