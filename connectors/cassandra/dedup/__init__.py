"""Reads the copies of a change that the agents of all replicas send, and sends one event for them."""
