"""Holds what every screen of the web UI stands in: the page, its forms, its errors and its files."""
