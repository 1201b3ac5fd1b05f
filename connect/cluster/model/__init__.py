"""Holds values and pure rules that describe the state of a cluster."""
