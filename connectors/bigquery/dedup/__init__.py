"""Decides which records are one row, and which of them stays."""
