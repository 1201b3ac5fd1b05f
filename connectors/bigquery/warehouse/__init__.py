"""Calls to Google's services."""
