"""Keeps figures for all open pages together, and sends pages their changes."""
