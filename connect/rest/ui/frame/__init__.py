"""Holds what all screens of the web UI share: the frame of a page, its forms, its errors and its files."""
