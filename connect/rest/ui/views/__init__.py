"""Turns facts about the cluster into values that templates of pages show. Pure."""
