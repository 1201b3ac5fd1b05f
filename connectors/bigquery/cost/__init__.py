"""Computes what a day of writing into a table costs, by a plain model of Google's billing rules."""
