"""Asks servers by HTTP."""
